import { expect, test } from 'vitest';
import { median, quantile } from './statistics.ts';

const oneToHundred = Array.from({ length: 100 }, (_, i) => 100 - i);

test('a quantile is a value that was measured', () => {
  expect(median(oneToHundred)).toBe(50);
  expect(quantile(oneToHundred, 0.99)).toBe(99);
  expect(quantile([7], 0.99)).toBe(7);
  expect(quantile(oneToHundred, 1)).toBe(100);
});

test('nothing measured is an error, never a figure', () => {
  expect(() => median([])).toThrow('nothing was measured');
});
