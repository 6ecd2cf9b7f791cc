// What a new supervisor does with the journal of the one before. Ends that were written are kept; tasks that never
// started may still start; tasks that had started have lost their keeper, with it their output and exit status, so what
// is left of them is killed and they end as lost. Nothing is started until that is done.

import type { TaskExit } from '@muster/model';
import type { Cgroups } from './cgroups.ts';
import { infrastructure } from './exit.ts';
import type { JournalRecord } from './journal.ts';
import type { Leftovers } from './leftovers.ts';
import { isAlive, signalPid, startTicks } from './processes.ts';
import { supervisorVersion, type TaskKey, type TaskSpec } from './protocol.ts';
import { leaveScratch } from './scratch.ts';

export interface RecoveredTask {
  readonly key: TaskKey;
  readonly spec: TaskSpec;
  /** Null: accepted, never started. */
  readonly exit: TaskExit | null;
}

export interface Recovered {
  readonly claims: Map<TaskKey, number>;
  readonly tasks: readonly RecoveredTask[];
}

const claimsKept = 1_000_000;

/** The journal's whole content, said again in the fewest words. */
export function snapshot(
  bootId: string,
  claims: ReadonlyMap<TaskKey, number>,
  tasks: readonly (RecoveredTask & { readonly started: boolean; readonly pid: number })[],
): JournalRecord[] {
  const records: JournalRecord[] = [{ r: 'open', version: supervisorVersion, bootId }];
  const kept = [...claims];
  for (let i = 0; i < kept.length; i += 1000) records.push({ r: 'claimed', keys: kept.slice(i, i + 1000) });
  for (const { key, spec, started, pid, exit } of tasks) {
    records.push({ r: 'claim', key, atMs: claims.get(key) ?? 0, spec });
    if (started) records.push({ r: 'starting', key });
    if (pid > 0) records.push({ r: 'pid', key, pid, startTicks: startTicks(pid) ?? 0 });
    if (exit) records.push({ r: 'exit', key, exit });
  }
  return records;
}

/** A key that old is also kept from starting by the server, whose renewals no longer name it. */
export function dropOldest(
  claims: Map<TaskKey, number>,
  isHeld: (key: TaskKey) => boolean,
  kept = claimsKept,
): void {
  for (const key of claims.keys()) {
    if (claims.size <= kept) return;
    if (!isHeld(key)) claims.delete(key);
  }
}

interface Story {
  readonly spec: TaskSpec;
  started: boolean;
  process: { readonly pid: number; readonly startTicks: number } | null;
  exit: TaskExit | null;
}

export interface RecoveryDeps {
  readonly bootId: string;
  readonly cgroups: Cgroups;
  readonly leftovers: Leftovers;
}

const nodeRestarted = infrastructure('node-restarted', 'the node was restarted while it had this task');
const supervisorLost = infrastructure(
  'supervisor-lost',
  'the supervisor of this node died, and the task was ended because its output and exit status were lost',
);

export async function recover(records: readonly JournalRecord[], deps: RecoveryDeps): Promise<Recovered> {
  const { claims, stories, bootId } = retell(records);
  const rebooted = bootId !== null && bootId !== deps.bootId;
  const tasks = await Promise.all(
    [...stories].map(async ([key, story]): Promise<RecoveredTask> => {
      const { spec } = story;
      if (story.exit) return { key, spec, exit: story.exit };
      if (!story.started && !rebooted) return { key, spec, exit: null };
      if (!rebooted) await clear(key, story, deps);
      await leaveScratch(spec);
      return { key, spec, exit: rebooted ? nodeRestarted : supervisorLost };
    }),
  );
  dropOldest(claims, (key) => stories.has(key));
  return { claims, tasks };
}

function retell(records: readonly JournalRecord[]) {
  const claims = new Map<TaskKey, number>();
  const stories = new Map<TaskKey, Story>();
  let bootId: string | null = null;
  for (const record of records) {
    switch (record.r) {
      case 'open':
        bootId = record.bootId;
        break;
      case 'claimed':
        for (const [key, atMs] of record.keys) claims.set(key, atMs);
        break;
      case 'claim':
        claims.set(record.key, record.atMs);
        stories.set(record.key, { spec: record.spec, started: false, process: null, exit: null });
        break;
      case 'acked':
        stories.delete(record.key);
        break;
      default:
        retellOne(stories.get(record.key), record);
    }
  }
  return { claims, stories, bootId };
}

function retellOne(
  story: Story | undefined,
  record: Extract<JournalRecord, { r: 'starting' | 'pid' | 'exit' }>,
): void {
  if (!story) return;
  if (record.r === 'exit') story.exit = record.exit;
  else story.started = true;
  if (record.r === 'pid') story.process = { pid: record.pid, startTicks: record.startTicks };
}

async function clear(key: TaskKey, story: Story, deps: RecoveryDeps): Promise<void> {
  const { process: main } = story;
  // The start time proves that the pid, and so the process group, is still the task's.
  if (main && isAlive(main.pid, main.startTicks)) signalPid(-main.pid, 'SIGKILL');
  const cgroup = deps.cgroups.open(key, story.spec);
  for (let pauseMs = 1; cgroup && cgroup.pids().length > 0; pauseMs = Math.min(pauseMs * 2, 500)) {
    cgroup.kill();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  cgroup?.remove();
  await deps.leftovers.clear(key);
}
