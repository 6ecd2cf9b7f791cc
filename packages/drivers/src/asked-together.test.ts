import { expect, test } from 'vitest';
import { askedTogether } from './asked-together.ts';

test('who asks while a question is under way shares the next one, and a failure is told to those who asked it', async () => {
  const answers: PromiseWithResolvers<number>[] = [];
  const ask = askedTogether(() => {
    const one = Promise.withResolvers<number>();
    answers.push(one);
    return one.promise;
  });
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  const first = [ask(), ask()];
  await settled();
  expect(answers).toHaveLength(1);
  const second = [ask(), ask(), ask()];
  await settled();
  expect(answers).toHaveLength(1);
  answers[0]!.resolve(1);
  expect(await Promise.all(first)).toEqual([1, 1]);
  await settled();
  expect(answers).toHaveLength(2);
  const third = ask();
  answers[1]!.reject(new Error('no answer'));
  for (const one of second) await expect(one).rejects.toThrow('no answer');
  await settled();
  answers[2]!.resolve(3);
  expect(await third).toBe(3);
});
