// What an operator is told of a configuration that is wrong.
import { expect, test } from 'vitest';
import { clusterConfigSchema } from './cluster.ts';
import { fieldProblems } from './parse-spec.ts';

function told(config: object): string[] {
  const { error } = clusterConfigSchema.safeParse(config);
  return error
    ? fieldProblems(error, config, clusterConfigSchema).map(({ path, message }) => `${path}: ${message}`)
    : [];
}

test.each([
  ['slrum', '/kind: must be slurm, kubernetes or agent; did you mean "slurm"?'],
  ['Kubernetes', '/kind: must be slurm, kubernetes or agent; did you mean "kubernetes"?'],
  ['pbs', '/kind: must be slurm, kubernetes or agent'],
  [undefined, '/kind: must be slurm, kubernetes or agent'],
])('a kind that is %s', (kind, message) => {
  expect(told({ kind, directory: '/shared' })).toEqual([message]);
});

test('a field of another kind is told as that, and not as a name to be spelled as it is', () => {
  expect(told({ kind: 'slurm', directory: '/shared', kubeconfig: '/k' })).toEqual([
    '/kubeconfig: the kind slurm has no field "kubeconfig"; another kind has',
  ]);
  expect(told({ kind: 'agent', fencedCheckpoints: true })).toEqual([
    '/fencedCheckpoints: the kind agent has no field "fencedCheckpoints"; another kind has',
  ]);
  expect(told({ kind: 'slurm', directory: '/shared', partion: 'main' })).toEqual([
    '/partion: unknown field "partion"; did you mean "partition"?',
  ]);
});
