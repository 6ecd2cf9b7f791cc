import { type JobSpec, parseSpec, type TopologyDemand } from '@muster/model';
import { expect, test } from 'vitest';
import { inOneCluster } from './one-cluster.ts';

const levels = ['region', 'zone', 'cluster', 'rack'];
const defaults = { project: 'p', tier: 't', stopAfterMs: () => null };

function specOf(body: object): JobSpec {
  const parsed = parseSpec({ command: ['true'], ...body }, defaults);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

const demand = (level: string, mode: TopologyDemand['mode']): TopologyDemand => ({ level, mode });
const whole = demand('cluster', 'required');

/** What a gang of two tasks with this wish is planned with: as a whole, and its group by itself. */
function kept(topology: TopologyDemand | null, known = levels, driven = true) {
  const result = inOneCluster(specOf({ tasks: 2, ...(topology && { topology }) }), known, driven);
  if (!result.ok) return result.problem.message;
  const { spec } = result;
  return [spec.topology, spec.groups[0]?.demand.topology];
}

test('a gang is in one cluster, and what it wishes holds inside it', () => {
  expect(kept(null)).toEqual([whole, null]);
  for (const mode of ['preferred', 'spread'] as const)
    for (const level of ['rack', 'node'])
      expect(kept(demand(level, mode))).toEqual([whole, demand(level, mode)]);
});

test('what lies in one cluster anyway, or is wider, needs nothing more than that', () => {
  for (const level of ['rack', 'node'])
    expect(kept(demand(level, 'required'))[0]).toEqual(demand(level, 'required'));
  expect(kept(whole)).toEqual([whole, null]);
  for (const level of ['region', 'zone'])
    for (const mode of ['preferred', 'required'] as const)
      expect(kept(demand(level, mode))).toEqual([whole, null]);
});

test('it is not spread over clusters, and not accepted where its clusters cannot be told apart', () => {
  for (const level of ['cluster', 'zone'])
    expect(kept(demand(level, 'spread'))).toMatch(/stay in one cluster/);
  const known = ['region', 'rack'];
  for (const mode of ['preferred', 'required', 'spread'] as const)
    expect(kept(demand('rack', mode), known)).toMatch(/no level "cluster"/);
  expect(kept(demand('node', 'required'), known)[0]).toEqual(demand('node', 'required'));
  // Agents start whatever part of it they are told to.
  expect(kept(demand('rack', 'spread'), known, false)).toEqual([demand('rack', 'spread'), null]);
});

test('a wish that a group has of its own stays, and a job of one task is left alone', () => {
  const group = (name: string, more: object = {}) => ({ name, command: ['true'], tasks: 1, ...more });
  const spec = specOf({
    command: undefined,
    topology: demand('rack', 'preferred'),
    groups: [group('a', { topology: demand('node', 'required') }), group('b')],
  });
  const result = inOneCluster(spec, levels, true);
  expect(result.ok && result.spec.groups.map((one) => one.demand.topology)).toEqual([
    demand('node', 'required'),
    demand('rack', 'preferred'),
  ]);
  const single = specOf({ tasks: 1 });
  expect(inOneCluster(single, levels, true)).toEqual({ ok: true, spec: single });
});
