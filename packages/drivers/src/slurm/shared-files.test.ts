// One contract for the shared directory, here and over a shell. That the shell is on another machine is tested with a real sshd
// (tests/slurm/ssh.test.ts); here it is one of this machine.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RemoteBash, remoteFiles } from './remote-files.ts';
import { localFiles, type StampedText } from './shared-files.ts';

let calls = 0;
const bash: RemoteBash = (script, input) =>
  new Promise((resolve, reject) => {
    calls++;
    const child = execFile(
      'bash',
      ['-c', script],
      { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } },
      (error, out) => (error ? reject(error) : resolve(out)),
    );
    child.stdin?.end(input);
  });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-shared-'));
  calls = 0;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe.each([
  ['here', localFiles],
  ['over a shell', remoteFiles(bash)],
])('shared files %s', (_where, files) => {
  test('what is made once is made by one', async () => {
    const path = join(dir, 'claim');
    const made = await Promise.all([1, 2, 3].map(() => files.makeNew(path)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    await expect(files.makeNew(join(dir, 'no', 'such'))).rejects.toThrow();
    expect(await files.names(dir)).toEqual(['claim']);
  });

  test('what is written once is written by one, and whole', async () => {
    const file = join(dir, 'owner');
    const words = ['one', 'two', "'three' $(x)\n"];
    const wrote = await Promise.all(words.map((word) => files.writeNew(file, word)));
    expect(wrote.filter(Boolean)).toHaveLength(1);
    expect(await files.read(file)).toBe(words[wrote.indexOf(true)]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(files.writeNew(join(dir, 'no', 'such'), 'x')).rejects.toThrow();
    expect(await files.names(dir)).toEqual(['owner']);
  });

  test('who may write to it is told as chmod says it', async () => {
    const path = join(dir, 'open');
    await files.makeNew(path);
    for (const mode of [0o700, 0o755, 0o1777, 0o2770]) {
      chmodSync(path, mode);
      expect(await files.mode(path)).toBe(mode);
    }
    expect(await files.mode(join(dir, 'no', 'such'))).toBeNull();
  });

  test('what is written is read as it is, whatever it is', async () => {
    const contents = [
      '',
      '\n',
      'a\0b\0\0',
      '\'$(touch x)`touch x`"\\',
      'ünïcode 🚀\n\n',
      '-n',
      'x'.repeat(300_000),
    ];
    for (const [i, content] of contents.entries()) {
      const file = join(dir, `it's $(${i}) "file"`);
      await files.write(file, content);
      expect(await files.read(file)).toBe(content);
      expect(readFileSync(file, 'utf8')).toBe(content);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(await files.names(dir)).toHaveLength(contents.length);
  });

  test('what is not there is an answer, and what cannot be read is none', async () => {
    const missing = join(dir, 'missing');
    expect(await files.names(missing)).toBeNull();
    expect(await files.read(missing)).toBeNull();
    expect(await files.piece(missing, 0, 10)).toBeNull();
    expect(await files.changedMs(missing)).toBeNull();
    await files.move(missing, join(dir, 'other'));
    await files.remove(missing);
    await expect(files.write(join(missing, 'x'), 'y')).rejects.toThrow();
    await expect(files.read(dir)).rejects.toThrow(/directory/i);
    symlinkSync('loop', join(dir, 'loop'));
    await expect(files.read(join(dir, 'loop'))).rejects.toThrow(/symbolic links/i);
    await expect(files.names(join(dir, 'loop', 'x'))).rejects.toThrow(/symbolic links/i);
  });

  test('a piece of a file is what lies there, and how long the whole is', async () => {
    const file = join(dir, 'output');
    await files.write(file, 'hello\0world');
    const read = async (offset: number, max: number) => {
      const piece = await files.piece(file, offset, max);
      return [Buffer.from(piece?.data ?? []).toString(), piece?.size];
    };
    expect(await read(0, 5)).toEqual(['hello', 11]);
    expect(await read(4, 100)).toEqual(['o\0world', 11]);
    expect(await read(11, 5)).toEqual(['', 11]);
    expect(await read(50, 5)).toEqual(['', 11]);
  });

  test("another's file is read when it changed, and never through a link", async () => {
    const file = join(dir, 'status.json');
    const read = (before: StampedText | null) => files.stamped(file, 100, before);
    expect(await read(null)).toBeNull();
    await files.write(file, '{"step": 3}');
    const first = await read(null);
    expect(first?.text).toBe('{"step": 3}');
    expect(Math.abs((first?.writtenMs ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(await read(first)).toBe(first);
    await files.write(file, '{"step": 4}');
    expect((await read(first))?.text).toBe('{"step": 4}');
    await files.write(file, 'x'.repeat(101));
    expect(await read(first)).toBeNull();
    await files.remove(file);
    symlinkSync('/etc/passwd', file);
    expect(await read(first)).toBeNull();
    await files.remove(file);
    await files.makeNew(file);
    expect(await read(first)).toBeNull();
  });

  test('what is moved is there and nowhere else, and what is removed is gone with all below it', async () => {
    const [from, to] = [join(dir, 'from'), join(dir, 'to')];
    await files.makeNew(from);
    await files.makeNew(join(from, 'below'));
    await files.move(from, to);
    expect(await files.names(from)).toBeNull();
    expect(await files.names(to)).toEqual(['below']);
    expect(Math.abs(((await files.changedMs(to)) ?? 0) - Date.now())).toBeLessThan(60_000);
    await files.remove(to);
    expect(await files.names(to)).toBeNull();
  });
});

test('what is asked at the same time goes in one call', async () => {
  const files = remoteFiles(bash);
  const names = Array.from({ length: 50 }, (_, i) => join(dir, `f${i}`));
  await Promise.all(names.map((name) => files.write(name, name)));
  expect(await Promise.all(names.map((name) => files.read(name)))).toEqual(names);
  expect(calls).toBe(2);
});

test.each([
  ['too few answers', ''],
  ['words that are none', 'hello there\n'],
  ['half a line', 'ok'],
])('a login node that answers %s is not believed', async (_what, said) => {
  const files = remoteFiles(async () => said);
  await expect(files.read('/x')).rejects.toThrow();
  await expect(files.makeNew('/x')).rejects.toThrow();
});

test('a login node that is not reached is not an empty directory', async () => {
  const files = remoteFiles(() => Promise.reject(new Error('ssh: connection refused')));
  await expect(files.names('/x')).rejects.toThrow('connection refused');
});
