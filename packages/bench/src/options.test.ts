import { expect, test } from 'vitest';
import { parseOptions } from './options.ts';

const dir = { flag: '--dir', value: 'DIR', about: 'the folder' };

test('switches and options with values are read in any order', () => {
  const called = parseOptions(['--dir', 'a=b', '--json'], [dir]);
  expect(called).toEqual({ json: true, quick: false, values: new Map([['--dir', 'a=b']]) });
  expect(parseOptions(['--quick', '--dir=x'], [dir]).values.get('--dir')).toBe('x');
});

test('what is not known is refused with the nearest word', () => {
  expect(() => parseOptions(['--jsno'], [])).toThrow('there is no option "--jsno"; did you mean --json?');
  expect(() => parseOptions(['--dir', 'x'], [])).toThrow('there is no option "--dir"');
  expect(() => parseOptions(['x'], [dir])).toThrow('there is no option "x"');
  expect(() => parseOptions(['--json=yes'], [])).toThrow('there is no option "--json=yes"');
});

test('an option without its value says what it needs', () => {
  expect(() => parseOptions(['--dir'], [dir])).toThrow('--dir needs a value: --dir DIR');
  expect(() => parseOptions(['--dir', '--json'], [dir])).toThrow('--dir needs a value');
});

test('a benchmark may have switches of its own', () => {
  const scale = { flag: '--scale', value: null, about: 'more' };
  expect(parseOptions(['--scale', '--json'], [scale]).values.has('--scale')).toBe(true);
  expect(parseOptions([], [scale]).values.has('--scale')).toBe(false);
  expect(() => parseOptions(['--scale=yes'], [scale])).toThrow('--scale takes no value');
});
