// The Slurm driver on a real Slurm, watched all the time.

import {
  createSlurmDriver,
  localRunDirectories,
  type SlurmDriver,
  slurmCommands,
} from '@muster/drivers/slurm';
import type { TestSlurm } from '@muster/drivers/testing';
import { freshId, type NodeId } from '@muster/model';
import type { ClusterSubject } from './runs.ts';
import { watched } from './watched.ts';

export interface SlurmSubject extends ClusterSubject {
  readonly driver: SlurmDriver;
}

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
  const { observed, close } = watched(driver);
  return {
    driver,
    node: ids.get('n1') as NodeId,
    nodeOf: (name) => ids.get(name) as NodeId,
    observed,
    forbid: () => {},
    close,
  };
}
