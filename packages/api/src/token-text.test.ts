import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { mintSecret, secretHash, secretStart, withoutSecrets } from './token-text.ts';

test('a minted token has its form, and its hash is not the token', () => {
  const text = mintSecret('mst', randomBytes);
  expect(text).toMatch(/^mst_[A-Za-z0-9_-]{49}$/);
  expect(secretHash('mst', text)).toMatch(/^[0-9a-f]{64}$/);
  expect(secretHash('mse', text)).toBeNull();
});

test('one changed character is refused without a lookup', () => {
  const text = mintSecret('mst', randomBytes);
  for (let i = 4; i < text.length; i++) {
    const other = text[i] === 'A' ? 'B' : 'A';
    // The last character of a checksum carries spare bits, but the text is compared whole.
    expect(secretHash('mst', text.slice(0, i) + other + text.slice(i + 1)), `at ${i}`).toBeNull();
  }
  for (const wrong of ['', 'mst_', text.slice(0, -1), `${text}A`, ` ${text}`, text.toUpperCase()])
    expect(secretHash('mst', wrong)).toBeNull();
});

test('a text to be kept loses its secrets and nothing else', () => {
  const [token, enrolment] = [mintSecret('mst', randomBytes), mintSecret('mse', randomBytes)];
  expect(withoutSecrets(`a ${token},b/${enrolment} c`)).toBe('a mst_...,b/mse_... c');
  expect(withoutSecrets('tok_1 bot viewer (all projects)')).toBe('tok_1 bot viewer (all projects)');
});

test('the start of a secret is found where one may begin, and not in the middle of a cursor', () => {
  for (const url of ['/v1/jobs/mst_abc', '/v1/jobs?x=mse_abc', '/v1/x y mst_'])
    expect(secretStart.test(url)).toBe(true);
  for (const url of ['/v1/jobs?cursor=aGFsmst_bG8', '/v1/jobs?cursor=-mst_x'])
    expect(secretStart.test(url)).toBe(false);
});
