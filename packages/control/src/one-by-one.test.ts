import { describe, expect, test } from 'vitest';
import { OneByOne } from './one-by-one.ts';

const soon = {
  after(ms: number, callback: () => void) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

describe('questions one by one', () => {
  test('are answered in the order they came, never two at once, and others have a turn in between', async () => {
    const line = new OneByOne(soon);
    const seen: string[] = [];
    const question = (name: string) => async () => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      seen.push(`${name} ends`);
      return name;
    };
    const asked = [line.ask(question('a')), line.ask(question('b'))];
    const other = new Promise<void>((resolve) =>
      setTimeout(() => {
        seen.push('other');
        resolve();
      }, 0),
    );
    expect(await Promise.all(asked)).toEqual(['a', 'b']);
    await other;
    expect(seen).toEqual(['a begins', 'a ends', 'other', 'b begins', 'b ends']);
  });

  test('one that fails keeps nobody from an answer', async () => {
    const line = new OneByOne(soon);
    const bad = line.ask(async () => {
      throw new Error('bad');
    });
    const good = line.ask(async () => 'good');
    await expect(bad).rejects.toThrow('bad');
    expect(await good).toBe('good');
  });

  test('are refused when the line is too long, and taken again when it is not', async () => {
    const line = new OneByOne(soon);
    const asked = Array.from({ length: 200 }, (_, i) => line.ask(async () => i));
    await expect(line.ask(async () => -1)).rejects.toMatchObject({ code: 'unavailable' });
    expect((await Promise.all(asked)).length).toBe(200);
    expect(await line.ask(async () => 'again')).toBe('again');
  });
});
