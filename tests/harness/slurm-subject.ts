// The Slurm driver on a real Slurm, watched all the time.

import type { Ownership } from '@muster/drivers';
import {
  bashOver,
  createSlurmDriver,
  localFiles,
  remoteFiles,
  runDirectories,
  type SlurmDriver,
  type SshLines,
  slurmCommands,
} from '@muster/drivers/slurm';
import { type TestSlurm, testOwnership } from '@muster/drivers/testing';
import { freshId, type NodeId } from '@muster/model';
import type { ClusterSubject } from './runs.ts';
import { watched } from './watched.ts';

export interface SlurmSubject extends ClusterSubject {
  readonly driver: SlurmDriver;
}

export interface SlurmSubjectOptions {
  readonly waitMaxS?: number;
  readonly ownership?: Ownership;
  /** In place of the directory that the Slurm has for it. */
  readonly directory?: string;
  /** Commands and files through this, in place of the machine's own. */
  readonly over?: SshLines;
}

export function slurmSubject(
  slurm: TestSlurm,
  { over, ownership = testOwnership(), directory = slurm.shared, ...more }: SlurmSubjectOptions = {},
): SlurmSubject {
  const ids = new Map(
    slurm.nodes.map((name, i) => [name, freshId('node', 1, new Uint8Array(9).fill(i + 1))] as const),
  );
  const names = new Map([...ids].map(([name, id]) => [id, name]));
  const driver = createSlurmDriver({
    commands: slurmCommands({ env: slurm.env, timeoutMs: 15_000, ...(over ? { over } : {}) }),
    installation: ownership.owner.installation,
    directories: runDirectories(
      directory,
      over ? remoteFiles(bashOver(over, 15_000)) : localFiles,
      ownership,
    ),
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
