// What jobs write about themselves, and what must be true of it afterwards (the checkers of the fault matrix).
import type { JobSpecInput } from '@muster/model';
import { expect } from 'vitest';
import type { TestSystem } from '../harness/system.ts';

/** A job that appends "start" and "end" with job, attempt and rank to the side file, doing `between` in the middle. */
export function provenJob(system: TestSystem, between: string, more: JobSpecInput = {}): JobSpecInput {
  const line = (word: string): string =>
    `echo "$MUSTER_JOB_ID $MUSTER_ATTEMPT $MUSTER_RANK ${word}" >> ${system.sideFile}`;
  return { name: 'proof', command: ['sh', '-c', `${line('start')}; ${between}; ${line('end')}`], ...more };
}

export interface Proof {
  readonly job: string;
  readonly attempt: number;
  readonly rank: number;
  readonly word: string;
}

export function proofs(system: TestSystem): Proof[] {
  return system.sideLines().map((line) => {
    const [job, attempt, rank, word] = line.split(' ');
    return { job: job ?? '', attempt: Number(attempt), rank: Number(rank), word: word ?? '' };
  });
}

/** C3: no attempt ran twice. */
export function expectAttemptsOnce(system: TestSystem): void {
  const starts = proofs(system).filter((proof) => proof.word === 'start');
  const keys = starts.map(({ job, attempt, rank }) => `${job} attempt ${attempt} rank ${rank}`);
  const twice = keys.filter((key, i) => keys.indexOf(key) !== i);
  expect(twice, 'attempts that ran twice').toEqual([]);
}

/** C1, C7: nothing is held when nothing runs, and nothing waits to be sent. */
export async function expectIdle(system: TestSystem): Promise<void> {
  const nodes = await system.store.nodes({ cluster: null, after: null, limit: 1000 });
  for (const node of nodes) {
    expect({
      node: node.name,
      cpu: node.cpuMilliUsed,
      memory: node.memoryMibUsed,
      devices: node.devicesUsed.filter((milli) => milli > 0),
    }).toEqual({
      node: node.name,
      cpu: 0,
      memory: 0,
      devices: [],
    });
  }
  expect((await system.store.counts()).outboxOpen, 'open outbox rows').toBe(0);
}

/** C5: the log is gap-free from its first event to its head. */
export async function expectWholeLog(system: TestSystem): Promise<void> {
  const head = await system.store.head();
  let at = head.first - 1;
  for (;;) {
    const events = await system.store.eventsSince(at, 5000);
    for (const event of events) {
      expect(event.sequence).toBe(at + 1);
      at = event.sequence;
    }
    if (events.length < 5000) break;
  }
  expect(at).toBeGreaterThanOrEqual(head.sequence);
}
