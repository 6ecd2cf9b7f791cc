// The small process that runs programs for a large one (programs.ts). It ends when that one is gone, and what it runs then goes on, as
// it would without it.
import { spawn } from 'node:child_process';
import type { ProgramEnd, ProgramMessage, RunMessage } from './messages.ts';

/** Of what a program says on its error stream. */
const saidMaxBytes = 64 * 1024;

function run({ id, program, args, env, input, timeoutMs, maxOutputBytes }: RunMessage): void {
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  let printed = 0;
  let killedFor: string | null = null;
  const kill = (why: string): void => {
    killedFor ??= why;
    child.kill('SIGKILL');
    // What it started itself may hold these for ever.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const timer = setTimeout(() => kill(`no answer within ${timeoutMs} ms`), timeoutMs);
  child.stdout.on('data', (out: Buffer) => {
    printed += out.length;
    if (printed > maxOutputBytes) kill(`it printed more than ${maxOutputBytes} bytes`);
    else tell({ id, out });
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < saidMaxBytes) said += text;
  });
  // It may end without reading everything.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended = (end: ProgramEnd): void => {
    clearTimeout(timer);
    tell({ id, end, said });
  };
  child.once('error', (error) => {
    // Where it could be started, its end follows.
    if (child.pid === undefined) ended({ kind: 'killed', message: error.message });
  });
  child.once('close', (code, signal) => {
    if (child.pid === undefined) return;
    if (killedFor !== null) ended({ kind: 'killed', message: killedFor });
    else if (code === null) ended({ kind: 'killed', message: `ended by ${signal}` });
    else ended({ kind: 'exited', code });
  });
}

function tell(message: ProgramMessage): void {
  // Whoever asked may be gone.
  process.send?.(message, undefined, {}, () => {});
}

process.on('message', run);
process.once('disconnect', () => process.exit());
