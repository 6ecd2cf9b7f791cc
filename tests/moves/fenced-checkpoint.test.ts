// The store of checkpoints that the guide shows: a script on a directory. What a newer attempt has begun, an older one cannot change.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../docs/guide/examples/fenced-checkpoint.sh');
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-fenced-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function call(attempt: number, ...args: string[]): Promise<Said> {
  const env = { ...process.env, MUSTER_CHECKPOINT_DIR: dir, MUSTER_ATTEMPT: String(attempt) };
  return new Promise((resolve) => {
    execFile('sh', [script, ...args], { env }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out: out.trim(), err });
    });
  });
}

/** The attempt saves a file of this name and content. */
function save(attempt: number, name: string, content = name): Promise<Said> {
  const file = join(dir, name);
  writeFileSync(file, content);
  return call(attempt, 'save', file);
}

it('goes on from the newest checkpoint, and refuses an older attempt once a newer one has begun', async () => {
  expect(await call(1, 'begin')).toMatchObject({ code: 0, out: '' });
  expect(await save(1, 'step-10')).toMatchObject({ code: 0, out: '' });
  expect(await save(1, 'step-20')).toMatchObject({ code: 0 });
  const begun = await call(2, 'begin');
  expect(begun).toMatchObject({ code: 0, out: join(dir, '1-step-20') });
  expect(readFileSync(begun.out, 'utf8')).toBe('step-20');
  const late = await save(1, 'step-30');
  expect(late).toMatchObject({ code: 75 });
  expect(late.err).toContain('refused: attempt 2 has begun, and this is attempt 1');
  expect(await call(1, 'begin')).toMatchObject({ code: 75 });
  // Nothing of it was taken, and the newer one is where it was.
  expect(readdirSync(dir)).not.toContain('1-step-30');
  expect(await call(2, 'begin')).toMatchObject({ code: 0, out: join(dir, '1-step-20') });
  expect(await save(2, 'step-30')).toMatchObject({ code: 0 });
  expect(await call(3, 'begin')).toMatchObject({ code: 0, out: join(dir, '2-step-30') });
});

it('a shorter name leaves nothing of a longer one behind', async () => {
  await save(1, 'a-name-that-is-quite-long');
  await save(1, 'b');
  expect((await call(2, 'begin')).out).toBe(join(dir, '1-b'));
});

it('says how it is called, and what is missing', async () => {
  expect(await call(1)).toMatchObject({ code: 64, err: expect.stringContaining('usage:') });
  expect((await call(1, 'save')).err).toContain('say which file');
  expect((await call(1, 'save', join(dir, 'nothing'))).code).not.toBe(0);
});

it('takes nothing when it cannot tell who is the newest', async () => {
  writeFileSync(join(dir, 'newest'), 'x1 1-step-10\n');
  for (const said of [await call(2, 'begin'), await save(2, 'step-20')])
    expect(said).toMatchObject({ code: 70, err: expect.stringContaining('nothing is taken') });
  expect(readFileSync(join(dir, 'newest'), 'utf8')).toBe('x1 1-step-10\n');
});

it('waits for whoever writes, so that no two have their way at once', async () => {
  await call(1, 'begin');
  const holder = spawn('flock', [join(dir, 'newest'), 'sh', '-c', 'echo held; read word'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  let done = false;
  const begun = call(2, 'begin').then((said) => {
    done = true;
    return said;
  });
  // It cannot be done while the other holds the lock, however long one looks.
  expect(await save1WhileHeld()).toBe(false);
  holder.stdin.end('go\n');
  expect(await begun).toMatchObject({ code: 0 });

  async function save1WhileHeld(): Promise<boolean> {
    await call(1);
    return done;
  }
});

it('of many that save at once, none of an older attempt comes after a newer one has begun', async () => {
  await call(1, 'begin');
  const old = Array.from({ length: 8 }, (_, i) => save(1, `old-${i}`));
  const begun = call(2, 'begin');
  const all = await Promise.all(old);
  const { out } = await begun;
  const [highest, name] = readFileSync(join(dir, 'newest'), 'utf8').trim().split(/ +/);
  expect(highest).toBe('2');
  // What the newer one was told is what stayed: nobody changed it behind its back.
  expect(out).toBe(name === undefined ? '' : join(dir, name));
  const taken = all.filter(({ code }) => code === 0).length;
  expect(readdirSync(dir).filter((file) => file.startsWith('1-'))).toHaveLength(taken);
});
