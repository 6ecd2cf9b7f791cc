import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { StreamParser } from './event-stream.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('comments, several data lines, ids and any line end are understood', () => {
  const parser = new StreamParser();
  const text = ': hi\r\n\r\nid: 7\nevent: output\ndata: a\ndata: b\n\ndata:c\r\r\nevent: x\n\n';
  expect(parser.push(bytes(text))).toEqual([
    { event: 'output', data: 'a\nb', id: '7' },
    { event: 'message', data: 'c', id: '7' },
  ]);
});

test('where the bytes are cut makes no difference', () => {
  const whole = bytes('id: 1\r\ndata: ünïcödé 🚀\r\n\r\nevent: e\ndata: {"a":1}\n\n');
  const expected = new StreamParser().push(whole);
  fc.assert(
    fc.property(fc.array(fc.nat(whole.length)), (cuts) => {
      const parser = new StreamParser();
      const at = [0, ...cuts.sort((a, b) => a - b), whole.length];
      const messages = at.flatMap((from, i) => parser.push(whole.subarray(from, at[i + 1] ?? whole.length)));
      expect(messages).toEqual(expected);
    }),
  );
});
