// A job that somebody moves asks for something else when it waits again: one more constraint, for as long as the move lasts.
import type { JobDemand } from '@muster/model';
import { expect, test } from 'vitest';
import { loadEngine } from './load.ts';
import { job, jobId, node, nodeId, oneTask } from './testing/builders.ts';
import { starts } from './testing/plan-text.ts';
import { World } from './testing/world.ts';

const [a, b] = [node('a'), node('b')];
const base = oneTask(8);
const at = (name: string): JobDemand => ({
  ...base,
  constraints: [...base.constraints, { label: 'node', op: 'in', values: [name] }],
});

/** The first job runs on a, alone in its entry or with others. */
function world(others: number): World {
  const made = new World(loadEngine, a);
  for (let n = 1; n <= 1 + others; n++) made.submit(job(n, base));
  made.cycle();
  return made;
}

const placedAt = (made: World): string[] =>
  starts(made.cycle()).map(({ job: id, tasks }) => `${id} ${tasks[0]!.node}`);
const asRebuilt = (made: World): void => expect(made.rebuilt().stateHash()).toBe(made.engine.stateHash());

for (const others of [0, 2])
  test(`a moved job starts only where it is to be, and then anywhere again, with ${others} others like it`, () => {
    const made = world(others);
    const [first] = made.runs.keys();
    made.moved(first!, at('b'));
    asRebuilt(made);
    // The room that it left is for those behind it.
    expect(placedAt(made)).toEqual(others === 0 ? [] : [`${jobId(2)} ${nodeId('a')}`]);
    made.join(b);
    expect(placedAt(made)).toContain(`${jobId(1)} ${nodeId('b')}`);
    asRebuilt(made);
    const own = [...made.runs.values()].find((run) => run.job === jobId(1))!;
    made.moved(own.run, base);
    asRebuilt(made);
    expect(placedAt(made)).toContain(`${jobId(1)} ${nodeId(others === 0 ? 'a' : 'b')}`);
  });

test('a move that is taken back lets the job start where it was', () => {
  const made = world(0);
  const [first] = made.runs.keys();
  made.moved(first!, at('b'));
  expect(placedAt(made)).toEqual([]);
  made.unmoved(jobId(1), base);
  asRebuilt(made);
  expect(placedAt(made)).toEqual([`${jobId(1)} ${nodeId('a')}`]);
});
