import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutputFilter } from './output-filter.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function filtered(text: string): string {
  const filter = new OutputFilter();
  return filter.push(bytes(text)) + filter.end();
}

test.each([
  ['plain\ttext\r\nand \x1b[1;31mcolour\x1b[0m', 'plain\ttext\r\nand \x1b[1;31mcolour\x1b[0m'],
  ['progress 10%\rprogress 20%\b', 'progress 10%\rprogress 20%\b'],
  ['\x1b[2J\x1b[Hcleared', 'cleared'],
  ['\x1b]0;you are root\x07prompt', 'prompt'],
  ['\x1b]52;c;ZXZpbA==\x1b\\after', 'after'],
  ['\x1bP+q544e\x1b\\after', 'after'],
  ['\x1b[?1049hfull screen', 'full screen'],
  ['\x1b[>4;1mkeys', 'keys'],
  ['bell\x07nul\0', 'bellnul'],
  ['\x1b(0lqk\x1b(B', 'lqk'],
  ['\x1bcreset', 'reset'],
  ['\u009b31mred', '\x1b[31mred'],
  ['ünïcödé 🚀', 'ünïcödé 🚀'],
  ['\x1b]0;never ended\nnext line', '\nnext line'],
])('%j becomes %j', (dirty, expected) => expect(filtered(dirty)).toBe(expected));

test('where output is cut makes no difference', () => {
  const text = bytes('a\x1b[31mb\x1b]0;t\x07c日\x1b[2Jd\n');
  const whole = new OutputFilter().push(text);
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const filter = new OutputFilter();
      const at = [0, ...cuts.sort((a, b) => a - b), text.length];
      const pieces = at.map((from, i) => filter.push(text.subarray(from, at[i + 1] ?? text.length)));
      expect(pieces.join('') + filter.end()).toBe(whole);
    }),
  );
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const colours = /\x1b\[[0-9;:]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const dangerous = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const pieces = ['\x1b', '[', ']', 'm', 'J', '3', ';', '?', '\x07', '\\', 'a', '\n', '\u009b', 'P'];

test('whatever comes in, only colours come out as escape sequences', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...pieces) }), (text) => {
      expect(filtered(text).replace(colours, '')).not.toMatch(dangerous);
    }),
  );
});
