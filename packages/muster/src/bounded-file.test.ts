import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BoundedFile } from './bounded-file.ts';
import { fileLog } from './log.ts';

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-log-'));
  path = join(dir, 'muster.log');
});

afterEach(() => rmSync(dir, { recursive: true }));

const lines = (name: string): string[] => readFileSync(join(dir, name), 'utf8').trimEnd().split('\n');

test('at its limit a file becomes the older one, of which there is one, and no line is lost or cut', () => {
  const file = new BoundedFile(path, 100);
  for (let i = 0; i < 57; i++) file.write(`line ${String(i).padStart(4, '0')}\n`);
  file.close();
  expect(readdirSync(dir).sort()).toEqual(['muster.log', 'muster.log.1']);
  for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).size).toBeLessThanOrEqual(100);
  const kept = [...lines('muster.log.1'), ...lines('muster.log')];
  expect(kept).toEqual(kept.map((_, i) => `line ${String(57 - kept.length + i).padStart(4, '0')}`));
  expect(lines('muster.log.1')).toHaveLength(10);
});

test('what is there at the start counts, and so do bytes that are no characters', () => {
  writeFileSync(path, 'x'.repeat(95));
  const file = new BoundedFile(path, 100);
  file.write('ü\n');
  expect(readdirSync(dir)).toEqual(['muster.log']);
  file.write('ü\n');
  file.close();
  expect([readFileSync(path, 'utf8'), readFileSync(`${path}.1`, 'utf8')]).toEqual([
    'ü\n',
    `${'x'.repeat(95)}ü\n`,
  ]);
});

test('a line longer than the limit is written whole', () => {
  const file = new BoundedFile(path, 10);
  file.write(`${'a'.repeat(50)}\n`);
  file.write('b\n');
  file.close();
  expect([lines('muster.log'), lines('muster.log.1')]).toEqual([['b'], ['a'.repeat(50)]]);
});

test('where the older one cannot be replaced, lines still come', () => {
  mkdirSync(join(dir, 'muster.log.1', 'in the way'), { recursive: true });
  const file = new BoundedFile(path, 10);
  for (const line of ['123456789\n', 'all\n', 'goes on\n']) file.write(line);
  file.close();
  expect(lines('muster.log')).toEqual(['123456789', 'all', 'goes on']);
});

test('the log of a system is such a file, and only its owner reads it', () => {
  const shown: string[] = [];
  const terminal = { isTTY: false, columns: 80, rows: 24, write: (text: string) => void shown.push(text) };
  const log = fileLog(path, 'info', terminal as never, 1000);
  for (let i = 0; i < 100; i++) log.info({ i }, 'something happened');
  log.error('it broke');
  expect(readdirSync(dir).sort()).toEqual(['muster.log', 'muster.log.1']);
  expect(JSON.parse(lines('muster.log').at(-1)!)).toMatchObject({ msg: 'it broke' });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(path).size).toBeLessThanOrEqual(1000);
  expect(shown.join('')).toContain('it broke');
});
