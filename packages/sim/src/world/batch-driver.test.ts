// The driver of batch systems passes the conformance suite on both kinds of them. The suite waits in real time, so virtual time
// follows the real one here; what its scripts do is known by their text.

import { driverConformance, type Subject } from '@muster/drivers/conformance';
import { createBatchDriver } from '@muster/drivers/sim';
import type { NodeId, Observation, RunId } from '@muster/model';
import { seeded } from '../random.ts';
import { BatchCluster } from './batch-cluster.ts';
import { Ground } from './ground.ts';
import { VirtualProcess } from './process.ts';
import { type Program, Programs } from './programs.ts';
import { Scheduler } from './scheduler.ts';

const node = 'node_1' as NodeId;
const plain = { exit: { ok: true } as const, stubborn: false, checkpointEveryMs: null };
const exitThree = { code: 'exit', message: 'exited with 3' };

/** What the suite's scripts do, by how they begin. */
const scripts: readonly (readonly [string, Program, string])[] = [
  ['echo hello', { ...plain, endsAfterMs: 5 }, 'hello\n'],
  ['echo once', { ...plain, endsAfterMs: 200 }, 'once\n'],
  ['echo late', { ...plain, endsAfterMs: 5 }, 'late\n'],
  [
    'exit 3',
    {
      ...plain,
      endsAfterMs: 5,
      exit: { ok: false, class: 'user', code: 3, signal: null, reason: exitThree },
    },
    '',
  ],
  ['trap "exit 0"', { ...plain, endsAfterMs: null }, ''],
  ['trap ""', { ...plain, endsAfterMs: null, stubborn: true }, ''],
];

class Scripts extends Programs {
  readonly texts = new Map<RunId, string>();

  override of(run: RunId): Program {
    return this.#row(run)[1];
  }

  override outputOf(run: RunId): string {
    return this.#row(run)[2];
  }

  #row(run: RunId) {
    const text = this.texts.get(run) ?? '';
    const row = scripts.find(([begins]) => text.startsWith(begins));
    if (!row) throw new Error(`no script begins like ${text}`);
    return row;
  }
}

async function subject(kind: 'slurm' | 'kubernetes'): Promise<Subject> {
  const scheduler = new Scheduler();
  const programs = new Scripts();
  const observed: Observation[] = [];
  const process = new VirtualProcess(scheduler);
  const ground = new Ground();
  ground.watch = {
    started: ({ run, rank }) => observed.push({ kind: 'started', run, rank, pid: 1 }),
    ended: () => {},
  };
  const cluster = new BatchCluster({ scheduler, random: seeded(1), ground, programs, kind, nodes: [node] });
  const client = cluster.client(process);
  const driver = createBatchDriver(client);
  const told = new Set<string>();
  const look = async (): Promise<void> => {
    for (const { run, rank, exit } of (await client.list()).reports(node)) {
      if (!exit || told.has(run)) continue;
      told.add(run);
      observed.push({ kind: 'ended', run, rank, exit });
    }
  };
  let over = false;
  const beganMs = performance.now() - scheduler.nowMs;
  const pump = async (): Promise<void> => {
    while (!over) {
      void look();
      while (await scheduler.step(Math.floor(performance.now() - beganMs)));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  const pumping = pump();
  return {
    node,
    driver: {
      ...driver,
      submit(target, command) {
        programs.texts.set(command.run, command.tasks[0]?.command[2] ?? '');
        return driver.submit(target, command);
      },
    },
    observed: () => observed,
    forbid: () => {},
    async close() {
      over = true;
      await pumping;
    },
  };
}

for (const kind of ['slurm', 'kubernetes'] as const)
  driverConformance(`simulated ${kind}`, () => subject(kind), { leased: false, asks: false });
