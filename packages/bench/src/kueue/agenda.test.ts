import { expect, test } from 'vitest';
import { Agenda } from './agenda.ts';

test('what is due is handed over in order, whatever order it was added in', async () => {
  const done = Promise.withResolvers<void>();
  const seen: string[] = [];
  const agenda = new Agenda<string>((items) => {
    seen.push(...items);
    if (seen.length === 3) done.resolve();
  });
  const nowMs = performance.now();
  agenda.add(nowMs + 20, 'later');
  agenda.add(nowMs, 'first');
  agenda.add(nowMs + 5, 'second');
  await done.promise;
  expect(seen).toEqual(['first', 'second', 'later']);
  agenda.stop();
});
