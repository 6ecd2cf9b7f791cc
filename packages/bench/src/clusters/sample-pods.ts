// What is started on Kubernetes, by Muster and without it: one task on one GPU that runs until it is stopped. The pod of a bare call is
// the one that Muster would make, so that the API server has the same to do.
import { randomBytes } from 'node:crypto';
import { type PodSettings, podOf } from '@muster/drivers/kubernetes';
import {
  freshId,
  type JobSpec,
  type JobSpecInput,
  layoutRun,
  parseSpec,
  runId,
  type StartCommand,
} from '@muster/model';

export const image = 'registry.example/train:1';

export const podJob: JobSpecInput = {
  name: 'pod',
  command: ['python', 'train.py', '--config', 'configs/llama-7b.yaml'],
  resources: { cpus: 4, memory: '16GiB', accelerators: { model: 'H100', count: 1 } },
  constraints: [{ label: 'cluster', in: ['west'] }],
};

export const podSettings = (namespace: string): PodSettings => ({
  namespace,
  defaultImage: image,
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  runtimeClassName: null,
  tolerations: [],
  checkpoints: null,
});

const memoryMib = 16 * 1024;
const cpuMilli = 4000;
const port = 29_400;

function spec(): JobSpec {
  const defaults = { project: 'default', tier: 'standard', stopAfterMs: () => 300_000 };
  const parsed = parseSpec(podJob, defaults);
  if (!parsed.ok) throw new Error(`the sample job is not valid: ${JSON.stringify(parsed.problems)}`);
  return parsed.spec;
}

/** Makes pods that differ in their names and nodes. */
export function barePods(
  namespace: string,
): (node: string) => { readonly name: string; readonly pod: object } {
  const settings = podSettings(namespace);
  const whole = spec();
  const nodeId = freshId('node', 1, new Uint8Array(9));
  return (node) => {
    const job = freshId('job', Date.now(), randomBytes(9));
    const run = runId(job, 1);
    const task = { rank: 0, group: 0, node: nodeId, cpuMilli, memoryMib, devices: [0], deviceMilli: 1000 };
    const nodes = new Map([[nodeId as string, { name: node, address: '127.0.0.1' }]]);
    const env = layoutRun({ job, run, attempt: 1, spec: whole, tasks: [task], nodes, port })(task);
    const start = {
      rank: 0,
      command: whole.groups[0]?.command ?? [],
      env: { ...env, MUSTER_RUN_TOKEN: randomBytes(32).toString('base64url') },
      workdir: null,
      devices: [0],
      cpuMilli,
      memoryMib,
    };
    const command: StartCommand = {
      run,
      job,
      project: 'default',
      user: 'bench',
      stop: whole.stop,
      timeLimitMs: null,
      stopAfterMs: 300_000,
      outputLimitMib: 1,
      image: null,
      nodes: 1,
      tasks: [start],
    };
    const pod = podOf({ task: start, node, devices: { 'nvidia.com/gpu': 1 } }, command, 1, settings, 'bench');
    return { name: (pod as { metadata: { name: string } }).metadata.name, pod };
  };
}
