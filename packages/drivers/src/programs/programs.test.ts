import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { ProgramRequest } from './messages.ts';
import { runProgram } from './programs.ts';

const env = { PATH: '/usr/bin:/bin' };

function sh(script: string, more: Partial<ProgramRequest> = {}) {
  const args = ['-c', script];
  return runProgram({
    program: 'sh',
    args,
    env,
    input: '',
    timeoutMs: 30_000,
    maxOutputBytes: 1 << 20,
    ...more,
  });
}

/** Of the small process: what it runs has it for a parent. */
async function pidOf(): Promise<number> {
  return Number((await sh('echo $PPID')).printed);
}

describe('a program', () => {
  test('reads what it is given, and is told of with what it printed, said and ended with', async () => {
    const script = 'cat; echo "$WORD" >&2; exit 7';
    const ended = await sh(script, { input: 'größe\n', env: { ...env, WORD: 'no' } });
    expect(ended).toEqual({ end: { kind: 'exited', code: 7 }, printed: 'größe\n', said: 'no\n' });
  });

  test('has only the environment it is given', async () => {
    const { printed } = await runProgram({
      program: '/usr/bin/env',
      args: [],
      env: { A: '1' },
      input: '',
      timeoutMs: 30_000,
      maxOutputBytes: 1000,
    });
    expect(printed).toBe('A=1\n');
  });

  test('may print megabytes, and letters of several bytes are whole where pieces meet', async () => {
    const { printed } = await sh(`head -c 3000000 /dev/zero | tr '\\0' x; printf 'ä%.0s' $(seq 100000)`, {
      maxOutputBytes: 1 << 24,
    });
    expect(printed.length).toBe(3_100_000);
    expect(printed.endsWith('xä'.slice(1).repeat(3))).toBe(true);
    expect(printed.includes('\uFFFD')).toBe(false);
  });

  test('is killed when it prints more than is read, or takes longer than it may', async () => {
    const much = await sh('yes', { maxOutputBytes: 100_000 });
    expect(much.end).toEqual({ kind: 'killed', message: 'it printed more than 100000 bytes' });
    const late = await sh('exec sleep 60', { timeoutMs: 200 });
    expect(late.end).toEqual({ kind: 'killed', message: 'no answer within 200 ms' });
  });

  test('that there is not, and one that somebody kills, are told as killed', async () => {
    const none = await sh('', { program: 'no-such-program' });
    expect(none.end).toMatchObject({ kind: 'killed', message: expect.stringContaining('ENOENT') });
    expect((await sh('kill -9 $$')).end).toEqual({ kind: 'killed', message: 'ended by SIGKILL' });
  });

  test('is run beside others', async () => {
    const all = await Promise.all(Array.from({ length: 40 }, (_, i) => sh(`echo ${i}`)));
    expect(all.map(({ printed }) => Number(printed))).toEqual(all.map((_, i) => i));
  });
});

describe('the process that runs them', () => {
  test('is another one after it was killed, and nothing is known of what it ran', async () => {
    const pid = await pidOf();
    expect(await pidOf()).toBe(pid);
    const running = sh('exec sleep 60');
    process.kill(pid, 'SIGKILL');
    expect((await running).end).toMatchObject({
      kind: 'killed',
      message: expect.stringContaining('SIGKILL'),
    });
    expect(await pidOf()).not.toBe(pid);
  });

  test('keeps nobody from ending, and ends with whom it works for', async () => {
    const script = `
      const { runProgram } = await import(${JSON.stringify(new URL('./programs.ts', import.meta.url).href)});
      const asked = { program: 'sh', args: ['-c', 'echo $PPID'], env: ${JSON.stringify(env)}, input: '', timeoutMs: 30000, maxOutputBytes: 100 };
      console.log((await runProgram(asked)).printed.trim());`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (data: Buffer) => {
      printed += data.toString();
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(0);
    await expect.poll(() => isThere(Number(printed)), { timeout: 30_000 }).toBe(false);
  });
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
