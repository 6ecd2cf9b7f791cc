// The Slurm driver on a real Slurm, with somebody who looks all the time and notes what is new.
import { setTimeout as pause } from 'node:timers/promises';
import {
  createSlurmDriver,
  localRunDirectories,
  type SlurmDriver,
  slurmCommands,
} from '@muster/drivers/slurm';
import { freshId, type NodeId, type Observation } from '@muster/model';
import type { ClusterSubject } from './runs.ts';
import type { TestSlurm } from './slurm.ts';

export interface SlurmSubject extends ClusterSubject {
  readonly driver: SlurmDriver;
}

const lookEveryMs = 100;

export function slurmSubject(slurm: TestSlurm, more: { readonly waitMaxS?: number } = {}): SlurmSubject {
  const ids = new Map(
    slurm.nodes.map((name, i) => [name, freshId('node', 1, new Uint8Array(9).fill(i + 1))] as const),
  );
  const names = new Map([...ids].map(([name, id]) => [id, name]));
  const driver = createSlurmDriver({
    commands: slurmCommands({ env: slurm.env, prefix: [], timeoutMs: 15_000 }),
    directories: localRunDirectories(slurm.shared),
    nodeName: (node) => names.get(node) ?? null,
    billing: () => ({}),
    gatherMs: 2000,
    ...more,
  });
  const observed: Observation[] = [];
  const told = new Map<string, string>();
  let over = false;

  async function look(): Promise<void> {
    const { reports } = await driver.look();
    for (const { run, rank, began, state, exit } of reports) {
      const task = `${run}/${rank}`;
      const before = told.get(task);
      if (before === state || state === 'accepted') continue;
      told.set(task, state);
      if (before === undefined && began) observed.push({ kind: 'started', run, rank, pid: 0 });
      if (exit) observed.push({ kind: 'ended', run, rank, exit });
    }
  }

  async function lookOn(): Promise<void> {
    while (!over) {
      // A controller that does not answer is what some tests are about.
      await look().catch(() => {});
      await pause(lookEveryMs);
    }
  }

  const looking = lookOn();
  return {
    driver,
    node: ids.get('n1') as NodeId,
    nodeOf: (name) => ids.get(name) as NodeId,
    observed: () => observed,
    forbid: () => {},
    async close() {
      over = true;
      await looking;
    },
  };
}
