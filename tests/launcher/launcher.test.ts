// The launcher, on real processes: a copy of it in a folder of its own, with a small program in place of Muster.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';

const binFolder = join(import.meta.dirname, '../../packages/muster/bin');
const program = `
const name: string = process.argv[2] ?? '';
// The test reads the printed line as: the handler is in place.
if (name === 'wait') process.once('SIGTERM', () => process.exit(9)), setInterval(() => {}, 1000);
console.log(JSON.stringify({ name, args: process.argv.slice(3), major: parseInt(process.versions.node, 10) }));
if (name === 'exit') process.exitCode = 7;
if (name === 'die') process.kill(process.pid, 'SIGKILL');
`;

let folder = '';
let launcher = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-launcher-'));
  launcher = join(folder, 'muster/bin/muster.js');
  mkdirSync(join(folder, 'muster/bin'), { recursive: true });
  mkdirSync(join(folder, 'muster/src'));
  for (const name of ['muster.js', 'package.json']) {
    copyFileSync(join(binFolder, name), join(folder, 'muster/bin', name));
  }
  writeFileSync(join(folder, 'muster/package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'muster/src/main.ts'), program);
  // Makes a Node of today call itself old, to the launcher only: the flag is not passed on to the child.
  writeFileSync(
    join(folder, 'old.cjs'),
    `Object.defineProperty(process, 'versions', { value: { node: '20.1.0' } });`,
  );
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function installNode(version: string): void {
  const home = join(folder, 'node_modules', `node-${process.platform}-${process.arch}`);
  mkdirSync(join(home, 'bin'), { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify({ version }));
  symlinkSync(process.execPath, join(home, 'bin/node'));
}

function start(args: string[], { old = false } = {}) {
  const flags = old ? ['--require', join(folder, 'old.cjs')] : [];
  const child = spawn(process.execPath, [...flags, launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, XDG_CACHE_HOME: join(folder, 'cache') },
  });
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code, signal], stdout, stderr]) => ({ code, signal, stdout, stderr }),
  );
  return { child, ended };
}

test('a new Node runs the program in the same process, without a warning', async () => {
  const result = await start(['exit', '--flag', 'a b']).ended;
  expect(result).toMatchObject({ code: 7, signal: null, stderr: '' });
  expect(JSON.parse(result.stdout)).toEqual({ name: 'exit', args: ['--flag', 'a b'], major: 24 });
});

test('an old Node runs the program with the Node that npm installed', async () => {
  installNode('24.21.0');
  const result = await start(['exit', '--flag', 'a b'], { old: true }).ended;
  expect(result).toMatchObject({ code: 7, signal: null, stderr: '' });
  expect(JSON.parse(result.stdout)).toEqual({ name: 'exit', args: ['--flag', 'a b'], major: 24 });
});

test('an old Node passes a signal on and ends with the code of the program', async () => {
  installNode('24.21.0');
  const { child, ended } = start(['wait'], { old: true });
  await once(child.stdout, 'readable');
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 9, signal: null });
});

test('an old Node ends by the signal that ended the program', async () => {
  installNode('24.21.0');
  expect(await start(['die'], { old: true }).ended).toMatchObject({ code: null, signal: 'SIGKILL' });
});

test.each([undefined, '22.1.0'])('an old Node with %s beside it says what to do', async (version) => {
  if (version !== undefined) installNode(version);
  const result = await start(['exit'], { old: true }).ended;
  expect(result).toMatchObject({ code: 1, stdout: '' });
  expect(result.stderr).toMatch(/^muster needs Node 24 or newer and this is Node 20\.1\.0: .*\n$/);
});

test('a program that fails to load ends with an error', async () => {
  writeFileSync(join(folder, 'muster/src/main.ts'), `throw new Error('cannot start');`);
  const result = await start([]).ended;
  expect(result.code).toBe(1);
  expect(result.stderr).toContain('cannot start');
});
