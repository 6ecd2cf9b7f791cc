import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunId, StopCommand } from '@muster/model';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimsNothing, ownershipOf } from '../owner.ts';
import { testOwnership } from '../testing/ownership.ts';
import { batchScript } from './batch-script.ts';
import { localRunDirectories, type RunDirectories } from './run-directory.ts';

const run = 'run_000000000000000001_1' as RunId;
const stop: StopCommand = { run, reason: 'asked', class: 'cancelled', signal: 'INT', graceMs: 1500 };
const words = new Map([[0, ['', 'A=b\nc', 'echo', '']]]);
const files = {
  tasks: [{ rank: 0, node: 'n1', devices: [0, 1] }],
  steps: '0 n1 1 64M none\n',
  outputLimitMib: 64,
  words,
};

let shared: string;
let directories: RunDirectories;
beforeEach(() => {
  shared = mkdtempSync(join(tmpdir(), 'muster-runs-'));
  directories = localRunDirectories(shared, testOwnership());
});
afterEach(() => rmSync(shared, { recursive: true, force: true }));

const claim = (): string => join(directories.of(run), 'claim');

test('a directory that is not there is not made, and says what to do; once it is there all is well', async () => {
  rmSync(shared, { recursive: true });
  await expect(directories.open()).rejects.toThrow(`the directory ${shared} is not there; make it`);
  await expect(directories.prepare(run, files)).rejects.toThrow('is not there');
  expect(existsSync(shared)).toBe(false);
  mkdirSync(shared);
  expect(await directories.open()).toEqual([]);
});

test('a file in place of the directory is told as one', async () => {
  const file = join(shared, 'file');
  writeFileSync(file, '', { mode: 0o600 });
  const wrong = localRunDirectories(file, testOwnership());
  await expect(wrong.open()).rejects.toThrow(`${file} is a file; give a directory that every node sees`);
});

test("a directory belongs to who came first, by any path, and in another's nothing is touched", async () => {
  await directories.prepare(run, files);
  const link = `${shared}-link`;
  symlinkSync(shared, link);
  try {
    const theirs = localRunDirectories(link, testOwnership('theirs'));
    const message = `the directory ${link} holds the runs of another Muster: cluster alpha of the server at https://muster.test`;
    for (const act of [
      () => theirs.open(),
      () => theirs.admit(9),
      () => theirs.forget(run),
      theirs.checkOwner,
    ])
      await expect(act()).rejects.toThrow(message);
    await expect(localRunDirectories(link, testOwnership(undefined, 'beta')).open()).resolves.toEqual([run]);
    // Taken under its new name: the old one's cluster would be another.
    const back = ownershipOf(testOwnership().owner, () => ['alpha', 'beta'], {
      claims: true,
      runs: async () => 0,
    });
    await expect(localRunDirectories(shared, back).open()).rejects.toThrow('the runs of cluster beta');
    expect(readdirSync(join(shared, 'runs'))).toEqual([run]);
    expect(readdirSync(join(shared, 'epoch'))).toEqual([]);
  } finally {
    rmSync(link);
  }
});

test('an empty mount point is not taken for the directory in which our runs are', async () => {
  let runs = 0;
  const mounted = localRunDirectories(
    shared,
    testOwnership(undefined, undefined, () => runs),
  );
  await mounted.prepare(run, files);
  runs = 1;
  expect(await mounted.open()).toEqual([run]);
  const away = `${shared}-away`;
  renameSync(shared, away);
  mkdirSync(shared);
  await expect(mounted.open()).rejects.toThrow(
    /bears no mark, and a run of cluster alpha .* write \{"installation".*\} to .*owner/,
  );
  expect(readdirSync(shared)).toEqual([]);
  rmSync(shared, { recursive: true });
  renameSync(away, shared);
  expect(await mounted.open()).toEqual([run]);
});

test('who only looks leaves a directory to whoever comes first, and it is free again when it is emptied', async () => {
  await localRunDirectories(shared, { ...testOwnership(), ...claimsNothing }).open();
  expect(existsSync(join(shared, 'owner'))).toBe(false);
  const both = [directories, localRunDirectories(shared, testOwnership('theirs'))];
  const opened = await Promise.allSettled(both.map((one) => one.open()));
  expect(opened.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  for (const name of readdirSync(shared)) rmSync(join(shared, name), { recursive: true });
  const loser = both[opened.findIndex(({ status }) => status === 'rejected')];
  expect(await loser?.open()).toEqual([]);
  await expect(both.find((one) => one !== loser)?.open()).rejects.toThrow('another Muster');
});

test('a directory that other people can write to is refused', async () => {
  for (const mode of [0o1777, 0o770]) {
    chmodSync(shared, mode);
    await expect(directories.open()).rejects.toThrow(`other people can write to the directory ${shared}`);
  }
  expect(readdirSync(shared)).toEqual([]);
  chmodSync(shared, 0o755);
  expect(await directories.open()).toEqual([]);
});

test('a run is fresh once, and its words reach the file as they are', async () => {
  expect(await directories.prepare(run, files)).toBe(true);
  expect(await directories.prepare(run, files)).toBe(false);
  expect(readFileSync(join(directories.of(run), 'task-0'), 'utf8')).toBe('\0A=b\nc\0echo\0\0');
  expect(await directories.open()).toEqual([run]);
  expect(await directories.evidence(run)).toMatchObject({ tasks: files.tasks, claim: null, stop: null });
});

test('what the script tells is read, and half of a file is nothing', async () => {
  await directories.prepare(run, files);
  mkdirSync(claim());
  expect(await directories.evidence(run)).toMatchObject({ claim: { job: null } });
  writeFileSync(join(claim(), 'job'), '17\n');
  writeFileSync(join(claim(), 'started-0'), '');
  writeFileSync(join(claim(), 'exit-0'), '3');
  writeFileSync(join(claim(), 'exit-0.new'), '3 no\n');
  const seen = await directories.evidence(run);
  expect(seen).toMatchObject({ claim: { job: 17 }, started: new Set([0]), exits: new Map() });
  writeFileSync(join(claim(), 'exit-0'), '3 no\n');
  expect((await directories.evidence(run))?.exits).toEqual(new Map([[0, { code: 3, stopped: false }]]));
  writeFileSync(join(claim(), 'exit-0'), 'lost yes\n');
  expect((await directories.evidence(run))?.exits).toEqual(new Map([[0, { code: null, stopped: true }]]));
});

test('a stop before the start claims the key, and one after leaves word of its signal', async () => {
  expect(await directories.stop(run, stop)).toBe(true);
  expect(await directories.evidence(run)).toMatchObject({
    claim: { job: null },
    stop: { class: 'cancelled', reason: 'asked' },
  });
  expect(await directories.stop(run, stop)).toBe(false);
  expect(readFileSync(join(directories.of(run), 'stop'), 'utf8')).toBe('INT 1.5 - 0\n');
  await directories.stop(run, { ...stop, ask: { signal: 'USR1', waitMs: 2500 } });
  expect(readFileSync(join(directories.of(run), 'stop'), 'utf8')).toBe('INT 1.5 USR1 2.5\n');
});

test('a run that is over can be claimed by nobody', async () => {
  await directories.prepare(run, files);
  writeFileSync(join(directories.of(run), 'output-0'), 'hello');
  await directories.forget(run);
  expect(await directories.open()).toEqual([]);
  expect(await directories.isOver(run)).toBe(true);
  expect(() => mkdirSync(claim())).toThrow(/ENOENT/);
  const { data, size } = await directories.readOutput(run, 0, 1, 3);
  expect([Buffer.from(data).toString(), size]).toEqual(['ell', 5]);
});

test('output is read around what was dropped of it, and nobody reads the hole', async () => {
  await directories.prepare(run, files);
  mkdirSync(claim());
  writeFileSync(join(directories.of(run), 'output-0'), 'first....last');
  const read = async (offset: number, most = 100) => {
    const { data, size, ...at } = await directories.readOutput(run, 0, offset, most);
    return [at.offset, Buffer.from(data).toString(), size];
  };
  expect(await read(0)).toEqual([0, 'first....last', 13]);
  writeFileSync(join(claim(), 'dropped-0'), '5 9\n');
  expect(await read(0)).toEqual([0, 'first', 13]);
  expect(await read(1, 2)).toEqual([1, 'ir', 13]);
  expect(await read(5)).toEqual([9, 'last', 13]);
  expect(await read(8, 2)).toEqual([9, 'la', 13]);
  expect(await read(11)).toEqual([11, 'st', 13]);
  expect(await read(13)).toEqual([13, '', 13]);
  await directories.forget(run);
  expect(await read(6)).toEqual([9, 'last', 13]);
});

test('a command of an older epoch is not admitted, by whoever asks', async () => {
  expect(await directories.admit(9)).toBe(true);
  expect(await directories.admit(10)).toBe(true);
  expect(await localRunDirectories(shared, testOwnership()).admit(9)).toBe(false);
  expect(await directories.admit(10)).toBe(true);
});

test('what has been over for long is removed, and what is not over or not for long is kept', async () => {
  await directories.prepare(run, files);
  await directories.admit(9);
  await directories.admit(10);
  await directories.tidy(-1);
  expect(await directories.open()).toEqual([run]);
  await directories.forget(run);
  await directories.tidy(3_600_000);
  expect(await directories.isOver(run)).toBe(true);
  await directories.tidy(-1);
  expect(await directories.isOver(run)).toBe(false);
  expect(await directories.admit(9)).toBe(false);
  expect(readdirSync(join(shared, 'epoch'))).toEqual(['10']);
});

test("a task's word of saved work is read as it stands, and never through a link", async () => {
  await directories.prepare(run, files);
  const dir = join(directories.of(run), 'status-0');
  mkdirSync(dir);
  expect(await directories.readStatus(run, 0, null)).toBeNull();
  writeFileSync(join(dir, 'status.json'), '{"step": 3}');
  const first = await directories.readStatus(run, 0, null);
  expect(first?.text).toBe('{"step": 3}');
  expect(await directories.readStatus(run, 0, first)).toBe(first);
  writeFileSync(join(dir, 'new'), '{"step": 4}');
  renameSync(join(dir, 'new'), join(dir, 'status.json'));
  expect((await directories.readStatus(run, 0, first))?.text).toBe('{"step": 4}');
  rmSync(join(dir, 'status.json'));
  symlinkSync('/etc/passwd', join(dir, 'status.json'));
  expect(await directories.readStatus(run, 0, first)).toBeNull();
  expect(Math.abs((await directories.nowMs()) - Date.now())).toBeLessThan(60_000);
});

test('a job that Slurm runs a second time finds its key claimed by its own id, does nothing, and leaves word', async () => {
  await directories.prepare(run, files);
  mkdirSync(claim());
  writeFileSync(join(claim(), 'job'), '17\n');
  const script = (id: string): Buffer =>
    execFileSync('bash', ['--norc', '-c', batchScript(directories.of(run))], { env: { SLURM_JOB_ID: id } });
  script('18');
  expect((await directories.evidence(run))?.again).toBe(false);
  script('17');
  expect(await directories.evidence(run)).toMatchObject({
    again: true,
    started: new Set(),
    exits: new Map(),
  });
});

test('what Slurm refused stays refused, with its words, and is looked at no more', async () => {
  await directories.prepare(run, files);
  await directories.refuse(run, 'Invalid account');
  expect(await directories.open()).toEqual([]);
  expect([await directories.isOver(run), await directories.refusal(run)]).toEqual([true, 'Invalid account']);
  const other = 'run_000000000000000002_1' as RunId;
  await directories.prepare(other, files);
  await directories.forget(other);
  expect(await directories.refusal(other)).toBeNull();
});

test('what a stop kept from beginning is looked at no more after a while; what may still begin, or has, is left alone', async () => {
  const [stopped, unsent, begun] = [1, 2, 3].map((n) => `run_00000000000000000${n}_1` as RunId) as [
    RunId,
    RunId,
    RunId,
  ];
  await directories.stop(stopped, stop);
  await directories.prepare(unsent, files);
  await directories.prepare(begun, files);
  mkdirSync(join(directories.of(begun), 'claim'));
  await directories.tidy(60_000);
  expect(await directories.open()).toHaveLength(3);
  await directories.tidy(-60_000);
  expect((await directories.open()).sort()).toEqual([unsent, begun]);
  // A script that comes all the same finds no directory to claim its key in.
  expect(() => mkdirSync(join(directories.of(stopped), 'claim'))).toThrow(/ENOENT/);
});
