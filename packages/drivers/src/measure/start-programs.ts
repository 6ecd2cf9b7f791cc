// How long a process of some size does nothing else while it starts a program, by itself and through the small process (programs.ts).
// Prints milliseconds for a program: node packages/drivers/src/measure/start-programs.ts
import { execFile } from 'node:child_process';
import { runProgram } from '../programs/programs.ts';

const times = 100;
const env = { PATH: '/usr/bin:/bin' };
const held: Buffer[] = [];

async function stallMs(start: () => Promise<unknown>): Promise<number> {
  let sum = 0;
  for (let i = 0; i < times; i++) {
    const beforeMs = performance.now();
    const ended = start();
    sum += performance.now() - beforeMs;
    await ended;
    // A copy makes what both have be copied when it is next written.
    for (const buffer of held) buffer[0] = i;
  }
  return sum / times;
}

const itself = (): Promise<void> =>
  new Promise((resolve) => {
    execFile('true', { env }, () => resolve());
  });
const asked = { program: 'true', args: [], env, input: '', timeoutMs: 10_000, maxOutputBytes: 1000 };
const through = () => runProgram(asked);

await through();
for (const mib of [0, 200, 600]) {
  while (held.length < mib) held.push(Buffer.alloc(1 << 20, 1));
  const rssMib = Math.round(process.memoryUsage.rss() / (1 << 20));
  const [own, small] = [await stallMs(itself), await stallMs(through)];
  console.log(
    `${rssMib} MiB: by itself ${own.toFixed(2)} ms, through the small process ${small.toFixed(2)} ms`,
  );
}
