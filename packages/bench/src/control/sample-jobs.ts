// The jobs the load is made of. A submit looks like a real one: a command with arguments, some environment, labels, devices.
import { randomUUID } from 'node:crypto';
import type { JobSpecInput } from '@muster/model';

/** Asks for a device no benchmark node has, so that it stays in the queue and submits are measured, not starts. */
export function trainingJob(i: number): JobSpecInput {
  return {
    name: `train-${i % 100}`,
    command: ['python', 'train.py', '--config', 'configs/llama-7b.yaml', '--seed', String(i % 1000)],
    env: { WANDB_MODE: 'offline', OMP_NUM_THREADS: '8', DATA_ROOT: '/data/tokens' },
    resources: { cpus: 8, memory: '64GiB', accelerators: { model: 'H100', count: 1 + (i % 8) } },
    labels: { team: 'research', experiment: `sweep-${i % 20}` },
  };
}

/** A process that ends at once: what it costs is what the system costs. */
export const trueJob: JobSpecInput = {
  name: 'true',
  command: ['true'],
  resources: { cpus: 1, memory: '16MiB' },
};

export const loadedProjects = ['vision', 'speech', 'llm', 'robotics'] as const;
const counts = [1, 1, 1, 2, 2, 4, 4, 8] as const;
const cpusPerDevice = [4, 6, 8] as const;
const priorities = [0, 10] as const;

/** 24 shapes (4 device counts, 3 core counts, 2 priorities) over 4 projects: small jobs are frequent, as on real fleets. */
export function queuedJob(i: number): JobSpecInput {
  const count = counts[i % counts.length] ?? 1;
  const cpus = count * (cpusPerDevice[Math.floor(i / 8) % cpusPerDevice.length] ?? 4);
  return {
    name: `queued-${i % 500}`,
    project: loadedProjects[Math.floor(i / 24) % loadedProjects.length] ?? 'vision',
    priority: priorities[Math.floor(i / 96) % priorities.length] ?? 0,
    command: ['python', 'train.py', '--seed', String(i)],
    env: { WANDB_MODE: 'offline' },
    resources: { cpus, memory: `${count * 64}GiB`, accelerators: { model: 'H100', count } },
    labels: { team: 'research' },
  };
}

/** The body of POST /v1/jobs/batch, from specs as JSON; every item has its own key, as the client library sends it. */
export function batchBody(specs: readonly string[]): string {
  return `{"jobs":[${specs.map((spec) => `{"key":"${randomUUID()}","spec":${spec}}`).join(',')}]}`;
}
