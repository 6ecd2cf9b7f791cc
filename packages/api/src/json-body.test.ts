import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJsonBody } from './json-body.ts';
import type { RefusedError } from './problem.ts';

function refusal(body: string | Buffer): { code: string; message: string } {
  try {
    parseJsonBody(Buffer.from(body as string));
  } catch (error) {
    const { code, message } = error as RefusedError;
    return { code, message };
  }
  throw new Error('it was accepted');
}

test('any JSON value without surprises is read as JSON.parse reads it', () => {
  const plainKey = fc
    .string()
    .filter((key) => key !== '__proto__' && key !== 'constructor' && !key.includes('\0'));
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0'));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      text,
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(plainKey, tie('value'), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(value, fc.boolean(), (any, pretty) => {
      const written = JSON.stringify(any, null, pretty ? 2 : 0);
      expect(parseJsonBody(Buffer.from(written))).toEqual(JSON.parse(written));
    }),
  );
});

test('a key written twice anywhere is refused and named', () => {
  expect(refusal('{"a":1,"a":2}')).toEqual({ code: 'bad-json', message: 'the body names "/a" twice' });
  expect(refusal('{"a":[{"b":1},{"c":{"d":1,"e":2,"d":3}}]}').message).toContain('"/a/1/c/d"');
  // The same key by another spelling.
  expect(refusal('{"ab":1,"a\\u0062":2}').message).toContain('"/ab"');
  expect(parseJsonBody(Buffer.from('[{"a":1},{"a":2},{"b":":,{"}]'))).toEqual([
    { a: 1 },
    { a: 2 },
    { b: ':,{' },
  ]);
});

test('a property: an object with a repeated key is refused wherever it sits', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.integer({ min: 0, max: 40 }), (key, depth) => {
      fc.pre(key !== '__proto__' && key !== 'constructor' && !key.includes('\0') && key.isWellFormed());
      const name = JSON.stringify(key);
      const body = `${'['.repeat(depth)}{${name}:0,${name}:0}${']'.repeat(depth)}`;
      expect(refusal(body).message).toContain('twice');
    }),
  );
});

test('what is not plain UTF-8 JSON is refused before it is parsed', () => {
  expect(refusal('\ufeff{}').message).toContain('byte order mark');
  expect(refusal(Buffer.from([0x22, 0xff, 0x22])).message).toContain('UTF-8');
  // A surrogate half written as bytes.
  expect(refusal(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).message).toContain('UTF-8');
  for (const text of [
    'NaN',
    '{"a":Infinity}',
    '{',
    '{"a":1,}',
    "{'a':1}",
    '{"a":1}x',
    '\0',
    '"\0"',
    '[1,2',
    'x:::',
  ])
    expect(refusal(text).message, text).toContain('not JSON');
});

test('NUL and half surrogates that escapes let in are refused with their place', () => {
  expect(refusal('{"a":"x\\u0000"}').message).toBe('/a contains a NUL character');
  expect(refusal('{"a":["\\ud800"]}').message).toBe('/a/0 contains half of a surrogate pair');
  expect(refusal('{"\\udc00":1}').message).toContain('half of a surrogate pair');
  expect(parseJsonBody(Buffer.from('"\\ud83d\\ude00"'))).toBe('😀');
});

test('depth is refused beyond 64 however long the body is', () => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  expect(parseJsonBody(Buffer.from(nested(64)))).toBeTruthy();
  expect(refusal(nested(65)).message).toContain('deeper than 64');
  expect(refusal('['.repeat(1_000_000)).message).toContain('deeper than 64');
  // Brackets inside strings are no depth.
  expect(parseJsonBody(Buffer.from(JSON.stringify('['.repeat(1000))))).toBe('['.repeat(1000));
});

test('__proto__ and constructor are unknown fields and change no prototype', () => {
  for (const body of ['{"__proto__":{"polluted":1}}', '{"a":{"constructor":{"prototype":{"polluted":1}}}}'])
    expect(refusal(body).code).toBe('unknown-field');
  // Spelt with an escape too.
  expect(refusal('{"__pr\\u006fto__":1}').code).toBe('unknown-field');
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(parseJsonBody(Buffer.from('{"a":"constructor __proto__"}'))).toEqual({ a: 'constructor __proto__' });
});

test('an empty body is nothing rather than an error: routes decide whether they need one', () => {
  expect(parseJsonBody(Buffer.alloc(0))).toBeUndefined();
});
