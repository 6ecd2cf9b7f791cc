import type { RunId } from '@muster/model';
import { expect, test } from 'vitest';
import { accountingOf } from './accounting.ts';

const runs = [1, 2, 3].map((i) => `run_00000000000000000${i}_1` as RunId) as [RunId, RunId, RunId];

const record = (name: string, job_id: number, current = 'CANCELLED', submission = job_id) => ({
  job_id,
  name,
  state: { current, reason: 'None' },
  time: { submission, end: submission + 1 },
  kill_request_user: 'ann',
});
const answerOf = (...jobs: object[]): string => JSON.stringify({ errors: [], jobs });

/** Commands that answer so, one after another, and what was asked. */
function scripted(...answers: (string | Error)[]) {
  const asked: string[] = [];
  const commands = async (_program: string, args: readonly string[]): Promise<string> => {
    asked.push(args.find((arg) => arg.startsWith('--name=')) ?? '');
    const answer = answers.shift() ?? new Error('no more answers');
    if (answer instanceof Error) throw answer;
    return answer;
  };
  // Nobody is waited for, unless a test stops the clock.
  const clock = { atMs: 0, stepMs: 60_000 };
  const nowMs = (): number => {
    clock.atMs += clock.stepMs;
    return clock.atMs;
  };
  return { accounting: accountingOf(commands, 'ours', nowMs), asked, clock };
}

test("what it says of another Muster's job of the same key is not ours", async () => {
  const theirs = { ...record(runs[0], 2), comment: { job: `${runs[0]} theirs` } };
  const ours = { ...record(runs[0], 1), comment: { job: `${runs[0]} ours` } };
  const { accounting } = scripted(answerOf(theirs, ours), answerOf(theirs));
  expect(await accounting.ask(runs[0], null)).toMatchObject({ kind: 'ended', job: { id: 1 } });
  expect(await accounting.ask(runs[0], null)).toMatchObject({ kind: 'nothing' });
});

test.each([
  ['knows of no end', record(runs[0], 1, 'RUNNING')],
  [
    'has the state without the end',
    { ...record(runs[0], 1), time: { submission: 1, end: 0 }, kill_request_user: null },
  ],
])('an accounting that is a moment behind and %s is asked again, for a moment', async (_, job) => {
  const running = answerOf(job);
  const { accounting, clock } = scripted(running, answerOf(record(runs[0], 1)), running, running);
  clock.stepMs = 0;
  const answered = () => new Promise((resolve) => setImmediate(resolve));
  expect(accounting.of(runs[0], 1)).toBeNull();
  await answered();
  expect(accounting.of(runs[0], 1)).toBeNull();
  await answered();
  expect(accounting.of(runs[0], 1)).toMatchObject({ kind: 'ended', job: { endedBy: 'ann' } });
  accounting.forget(runs[0]);
  expect(accounting.of(runs[0], 1)).toBeNull();
  await answered();
  expect(accounting.of(runs[0], 1)).toBeNull();
  await answered();
  clock.stepMs = 60_000;
  expect(accounting.of(runs[0], 1)).toMatchObject({ kind: 'nothing' });
});

test('runs that are asked for together are asked for at once, and once', async () => {
  const { accounting, asked } = scripted(answerOf(record(runs[0], 1)), answerOf(record(runs[1], 2)));
  expect(runs.map((run) => accounting.of(run, null))).toEqual([null, null, null]);
  const first = await accounting.ask(runs[1], null);
  expect(first).toMatchObject({ kind: 'ended', job: { id: 2, state: 'CANCELLED', endedBy: 'ann' } });
  expect(accounting.of(runs[0], null)).toMatchObject({ kind: 'ended', job: { id: 1 } });
  expect(accounting.of(runs[2], null)).toMatchObject({ kind: 'nothing' });
  expect(asked).toEqual([`--name=${runs[0]}`, `--name=${runs[1]},${runs[2]}`]);
});

test('of several jobs of a key the one with the id counts, else the last', async () => {
  const answer = answerOf(record(runs[0], 7, 'TIMEOUT', 10), record(runs[0], 5, 'FAILED', 20));
  const { accounting } = scripted(answer);
  expect(await accounting.ask(runs[0], null)).toMatchObject({ job: { id: 5 } });
  expect(accounting.of(runs[0], 7)).toMatchObject({ job: { id: 7, state: 'TIMEOUT' } });
  expect(accounting.of(runs[0], 8)).toMatchObject({ kind: 'nothing' });
});

test.each([
  ['no JSON', 'JobID|State'],
  ['HTML', '<html>503</html>'],
  ['a state that is not known', answerOf(record(runs[0], 1, 'MELTED'))],
  ['a negative id', answerOf(record(runs[0], -1))],
  ['an error', JSON.stringify({ errors: [{ error: 'x' }], jobs: [] })],
  ['truncated', answerOf(record(runs[0], 1)).slice(0, -5)],
  ['a field of another type', answerOf({ ...record(runs[0], 1), time: { submission: 'yesterday' } })],
])('what cannot be read says nothing of an end: %s', async (_name, text) => {
  const { accounting } = scripted(text);
  expect(await accounting.ask(runs[0], null)).toMatchObject({
    kind: 'nothing',
    why: expect.stringContaining('did not answer'),
  });
});

test('a job that has not ended there has no end', async () => {
  const { accounting } = scripted(answerOf(record(runs[0], 1, 'RUNNING')));
  expect(await accounting.ask(runs[0], 1)).toEqual({
    kind: 'nothing',
    why: 'its accounting knows of no end',
  });
});
