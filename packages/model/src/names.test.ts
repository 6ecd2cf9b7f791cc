import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isAcceleratorModel,
  isEnvName,
  isLabelKey,
  isLabelValue,
  isName,
  isProjectPath,
  nearest,
  projectCovers,
} from './names.ts';

const badNames = [
  '',
  'a'.repeat(64),
  'a'.repeat(300),
  '../x',
  'a/b',
  '%x',
  'a\nb',
  'a\n',
  "a'b",
  'a"b',
  'a`b',
  '$(id)',
  '-a',
  'a-',
  'A',
  'a b',
  'a.b',
  'a_b',
  '😀',
  'a\u200fb',
  'аbc', // the first letter is Cyrillic
  'é',
  '\0',
  '.',
];

test.each(badNames)('%j is not a name', (text) => {
  expect(isName(text)).toBe(false);
  expect(isProjectPath(text)).toBe(text === 'a/b');
});

// Windows device names are fine here: nothing of ours becomes a Windows file name.
test.each(['a', '0', 'a-b', 'a--b', 'con', 'nul', 'a'.repeat(63)])('%j is a name', (text) => {
  expect(isName(text)).toBe(true);
});

describe('projects', () => {
  test.each([
    ['a', true],
    ['research/vision/ocr', true],
    ['a/b/c/d/e/f/g/h', true],
    ['a/b/c/d/e/f/g/h/i', false],
    ['/a', false],
    ['a/', false],
    ['a//b', false],
    ['a/../b', false],
    ['a/B', false],
  ])('%j is a path: %j', (text, expected) => {
    expect(isProjectPath(text)).toBe(expected);
  });

  test.each([
    ['a', 'a', true],
    ['a', 'a/b', true],
    ['a', 'a/b/c', true],
    ['a', 'a-b', false],
    ['a', 'ab', false],
    ['a/b', 'a', false],
    ['a/b', 'a/bc', false],
    ['a/b', 'a/b-c', false],
    ['a-b', 'a', false],
  ])('%s covers %s: %j', (scope, project, expected) => {
    expect(projectCovers(scope, project)).toBe(expected);
  });

  test('a scope covers exactly itself and what lies below it, segment by segment', () => {
    const path = fc.array(fc.constantFrom('a', 'b', 'a-b', 'ab'), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(path, path, (scope, project) => {
        const below = scope.every((segment, i) => project[i] === segment);
        expect(projectCovers(scope.join('/'), project.join('/'))).toBe(below);
      }),
    );
  });
});

test.each([
  [
    isLabelKey,
    ['team', 'example.com/team', 'a.b_c-D', 'cluster'],
    ['', 'a b', '/a', 'a/', 'a/b/c', 'Example.com/a', '-a', 'a'.repeat(64), '__proto__'],
  ],
  [isLabelValue, ['a', 'A100', 'a.b_c-d'], ['', 'a b', '-a', 'a/b', 'a'.repeat(64), 'é']],
  [isEnvName, ['A', '_', 'a1', 'LD_PRELOAD'], ['', '1A', 'A-B', 'A=B', 'A B', 'A\0', 'é', 'A'.repeat(257)]],
  [isAcceleratorModel, ['H100', 'A100-80GB', 'v5p'], ['', 'H100:8', 'a b', '-H']],
] as const)('%o tells good from bad', (is, good, bad) => {
  expect(good.filter((text) => !is(text))).toEqual([]);
  expect(bad.filter((text) => is(text))).toEqual([]);
});

describe('nearest', () => {
  const fields = ['command', 'constraints', 'env', 'tasks', 'timeLimit', 'stopAfter'];
  test.each([
    ['comand', 'command'],
    ['commnad', 'command'],
    ['Command', 'command'],
    ['time_limit', 'timeLimit'],
    ['timelimit', 'timeLimit'],
    ['task', 'tasks'],
    ['evn', 'env'],
    ['time', 'timeLimit'],
    ['STOP', 'stopAfter'],
    ['con', 'constraints'],
    ['co', null],
    ['--co', null],
    ['replicas', null],
    ['x'.repeat(1_000_000), null],
  ])('of %.20s is %s', (word, expected) => {
    expect(nearest(word, fields)).toBe(expected);
  });

  test('finds a word that differs by one swap of neighbours', () => {
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.nat(), (word, at) => {
        const i = at % (word.length - 1);
        const swapped = word.slice(0, i) + word[i + 1] + word[i] + word.slice(i + 2);
        expect(nearest(swapped, [word])).toBe(word);
      }),
    );
  });
});
