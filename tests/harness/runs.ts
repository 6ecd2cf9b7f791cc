// Runs as a plan would name them, for tests of a driver whose cluster has nodes of its own.
import type { CommandAnswer } from '@muster/drivers';
import type { Subject } from '@muster/drivers/conformance';
import {
  type NodeId,
  type Observation,
  type RunId,
  runId,
  type StartCommand,
  type TaskStart,
} from '@muster/model';
import { eventually } from './processes.ts';

/** A driver, and somebody who looks; nodes by the cluster's names of them. */
export interface ClusterSubject extends Subject {
  nodeOf(name: string): NodeId;
}

let nextRun = 0;

export function freshRun(): RunId {
  const body = String(++nextRun).padStart(18, '0');
  return runId(`job_${body}` as Parameters<typeof runId>[0], 1);
}

export function shellTask(rank: number, script: string, more: Partial<TaskStart> = {}): TaskStart {
  const size = { devices: [], cpuMilli: 500, memoryMib: 64 };
  return { rank, command: ['sh', '-c', script], env: {}, workdir: null, ...size, ...more };
}

let outbox = 0;

/** Sends what a plan would send for the tasks of each node, all at once. */
export function submit(
  { driver, nodeOf }: ClusterSubject,
  run: RunId,
  tasks: Readonly<Record<string, readonly TaskStart[]>>,
  more: Partial<StartCommand> = {},
): Promise<CommandAnswer[]> {
  const who = { run, job: 'job', project: 'default', user: 'ann', nodes: Object.keys(tasks).length };
  const limits = { timeLimitMs: null, stopAfterMs: null, outputLimitMib: 1, image: null };
  const stop = { signal: 'TERM', graceMs: 500 } as const;
  return Promise.all(
    Object.entries(tasks).map(([name, own]) => {
      const target = { outbox: ++outbox, epoch: 1, node: nodeOf(name) };
      return driver.submit(target, { ...who, ...limits, stop, tasks: own, ...more });
    }),
  );
}

export function cancel({ driver, node }: ClusterSubject, run: RunId): Promise<CommandAnswer> {
  const stop = { run, reason: 'asked', class: 'cancelled', signal: 'TERM', graceMs: 500 } as const;
  return driver.stop({ outbox: ++outbox, epoch: 1, node }, stop);
}

export const accepted = { outcome: 'accepted' };

/** The exits of all tasks of a run, by rank. */
export function ended(subject: ClusterSubject, run: RunId, tasks = 1, withinMs = 60_000): Promise<Exit[]> {
  return eventually(`${run} ends`, withinMs, () => {
    const ends = subject
      .observed()
      .filter((item): item is Ended => item.kind === 'ended' && item.run === run)
      .toSorted((a, b) => a.rank - b.rank);
    return ends.length === tasks ? ends.map(({ exit }) => exit) : null;
  });
}

export function started(subject: ClusterSubject, run: RunId): Promise<unknown> {
  return eventually(`${run} starts`, 60_000, () =>
    subject.observed().some((item) => item.kind === 'started' && item.run === run),
  );
}

type Ended = Extract<Observation, { kind: 'ended' }>;
type Exit = Ended['exit'];
