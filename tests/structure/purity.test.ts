import { describe, expect, test } from 'vitest';
import { checkPurity, type Discipline, disciplineOf } from './purity-rule.ts';
import { sourceFiles } from './repository.ts';
import { describeFinding } from './syntax.ts';

test('model and engine are pure, and control takes its clock, timers and randomness as arguments', () => {
  const findings = sourceFiles().flatMap((file) => {
    const discipline = disciplineOf(file.path);
    return discipline ? checkPurity(file, discipline) : [];
  });
  expect(findings.map(describeFinding)).toEqual([]);
});

test.each([
  ['packages/model/src/ids.ts', 'pure'],
  ['packages/engine/src/fit/fit.ts', 'pure'],
  ['packages/engine/src/fit/fit.test.ts', undefined],
  ['packages/control/src/cycle.ts', 'injected'],
  ['packages/control/src/host/clock.ts', undefined],
  ['packages/control/src/hostile.ts', 'injected'],
  ['packages/store/src/index.ts', undefined],
])('%s stands under %s', (path, discipline) => {
  expect(disciplineOf(path)).toBe(discipline);
});

function findings(discipline: Discipline, text: string): string[] {
  return checkPurity({ path: 'a.ts', text }, discipline).map(describeFinding);
}

describe('pure code', () => {
  test.each([
    `// Date.now() and process.env in a comment`,
    `const text = 'await fetch(process.env)' + \`setTimeout \${1}\`;`,
    `const pattern = /Math.random/;`,
    `task.process; task.performance(); ({ process: 1, fetch() {} });`,
    `interface Task { process: number; fetch(): void; Date: string }`,
    `class Task { process = 1; get performance() { return 1; } }`,
    `Math.max(1, Math.floor(2.5)); const big = 2 ** 53 + 2 ** n; Math.sqrt(2);`,
    `import { x as y } from './x.ts'; import { z } from '@muster/model';`,
    `a < b ? -1 : 1; [1].toSorted((x, y) => x - y);`,
  ])('may say: %s', (text) => {
    expect(findings('pure', text)).toEqual([]);
  });

  test.each([
    [`\n\nDate.now();`, 'a.ts:3 Date'],
    [`new Date(5);`, 'a.ts:1 Date'],
    [`let d: Date;`, 'Date'],
    [`const now = { Date }.Date;`, 'Date'],
    [`performance.now();`, 'performance'],
    [`Math.random();`, 'Math.random'],
    [`const { random } = Math;`, 'Math'],
    [`Math['random']();`, 'Math'],
    [`Math.exp(1);`, 'Math.exp'],
    [`Math.pow(2, 3);`, 'Math.pow'],
    [`Math.log(2);`, 'Math.log'],
    [`Math.log2(2);`, 'Math.log2'],
    [`const y = x ** 2;`, '**'],
    [`a.localeCompare(b);`, 'localeCompare'],
    [`a?.localeCompare(b);`, 'localeCompare'],
    [`x.toLocaleString();`, 'toLocaleString'],
    [`setTimeout(f, 1);`, 'setTimeout'],
    [`setInterval(f, 1);`, 'setInterval'],
    [`setImmediate(f);`, 'setImmediate'],
    [`queueMicrotask(f);`, 'queueMicrotask'],
    [`process.env;`, 'process'],
    [`const all = { process };`, 'process'],
    [`const f = fetch;`, 'fetch'],
    [`async function f() {}`, 'async'],
    [`const f = async () => 1;`, 'async'],
    [`class A { async f() {} }`, 'async'],
    [`await x;`, 'await'],
    [`export {};\nfor await (const x of y) {}`, 'await'],
    [`function f(): Promise<number> { return x; }`, 'Promise'],
    [`Promise.resolve();`, 'Promise'],
    [`import fs from 'node:fs';`, 'node:fs'],
    [`import type { Hash } from 'node:crypto';`, 'node:crypto'],
    [`export * from 'node:path';`, 'node:path'],
    [`import('./x.ts');`, 'import()'],
    [`console.log(1);`, 'console'],
    [`globalThis.x;`, 'globalThis'],
    [`crypto.x;`, 'crypto'],
  ])('may not say: %s', (text, expected) => {
    const found = findings('pure', text);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toContain(expected);
  });
});

describe('control', () => {
  test.each([
    `async function f(): Promise<void> { await x; }`,
    `new Date(nowMs).toISOString(); Date.parse('x'); let d: Date; d instanceof Date;`,
    `timers.setTimeout(f, 1); clock.performance; Math.pow(2, attempt);`,
    `import { createHash } from 'node:crypto';`,
    `import { Worker } from 'node:worker_threads';`,
  ])('may say: %s', (text) => {
    expect(findings('injected', text)).toEqual([]);
  });

  test.each([
    [`Date.now();`, 'Date'],
    [`new Date();`, 'Date'],
    [`Date();`, 'Date'],
    [`const clock = Date;`, 'Date'],
    [`Date['now']();`, 'Date'],
    [`performance.now();`, 'performance'],
    [`Math.random();`, 'Math.random'],
    [`setTimeout(f, 1);`, 'setTimeout'],
    [`const timers = { setTimeout };`, 'setTimeout'],
    [`setInterval(f, 1);`, 'setInterval'],
    [`setImmediate(f);`, 'setImmediate'],
    [`process.exit(1);`, 'process'],
    [`globalThis.setTimeout(f, 1);`, 'globalThis'],
    [`import { setTimeout as wait } from 'node:timers/promises';`, 'node:timers/promises'],
    [`import { randomUUID } from 'node:crypto';`, 'node:crypto'],
    [`import * as c from 'node:crypto';`, 'node:crypto'],
    [`import p from 'node:process';`, 'node:process'],
    [`crypto.randomUUID();`, 'crypto'],
    [`import(name);`, 'import()'],
  ])('may not say: %s', (text, expected) => {
    const found = findings('injected', text);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toContain(expected);
  });
});
