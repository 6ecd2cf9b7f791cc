import { agentMessageSchema, maxReasonChars, type Observation } from '@muster/model';
import { expect, it } from 'vitest';
import { TaskBook } from './task-book.ts';
import { freshRun } from './testing/fake-server.ts';

it('tells a reason that is longer than the protocol allows in as many words as it does, however it came', () => {
  const told: Observation[] = [];
  const book = new TaskBook((item) => told.push(item));
  const [first, second] = [freshRun(), freshRun()];
  const message = `there is no program ${'x'.repeat(maxReasonChars - 21)}\u{1f600} on this node`;
  const reason = { code: 'no-program', message };
  const exit = { ok: false, class: 'user', code: 127, signal: null, reason } as const;
  book.news({ t: 'ended', run: first, rank: 0, exit });
  book.replace([
    { run: first, rank: 0, state: 'ended', exit },
    { run: second, rank: 0, state: 'ended', exit },
  ]);
  expect(told.map(({ run }) => run)).toEqual([first, second]);
  const report = { type: 'report', n: 2, report: 1, items: told };
  expect(agentMessageSchema.safeParse(report).error).toBeUndefined();
  for (const task of book.reports()) {
    expect(task.exit).toMatchObject({ reason: { message: expect.stringMatching(/^there is no .*x…$/) } });
  }
});
