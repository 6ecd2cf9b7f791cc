import { expect, test } from 'vitest';
import { crlfLine, inlineScript } from './shell-script.ts';

test.each([
  [['sh', '-c', 'a'], 2],
  [['/bin/bash', '-o', 'pipefail', '-euxc', 'a', 'name'], 4],
  [['bash', '-lc', 'a'], 2],
  [['bash', '+x', '-c', 'a'], 3],
  [['sh', 'script.sh', '-c', 'a'], null],
  [['sh', '-c'], null],
  [['python', '-c', 'a'], null],
  [['bash', '--norc', 'x'], null],
  [[], null],
])('the script of %j is at %j', (words, expected) => expect(inlineScript(words)).toBe(expected));

test.each([
  ['a\nb\n', null],
  ['a\r\nb', 1],
  ['a\nb\r\n', 2],
  ['printf "\\r\\n"', null],
  ['a\rb', null],
  ['', null],
])('%j has its first CRLF in line %j', (text, line) => expect(crlfLine(text)).toBe(line));
