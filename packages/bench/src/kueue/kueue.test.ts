import { expect, test } from 'vitest';
import { arrivalsOf, cohortsOf, floorMs } from './arrivals.ts';
import { parseConfig } from './config.ts';
import { inventoriesOf, policyOf, specOf } from './mapping.ts';

const queue = (sets: string, more = ''): string => `
cohorts:
  - className: cohort
    count: 2
    queuesSets:
    - className: cq
      count: 3
      nominalQuota: "20"
      borrowingLimit: 100
      reclaimWithinCohort: Any
      withinClusterQueue: LowerPriority
      workloadsSets: [${sets}]
${more}`;
const workloads = (text: string): string => `{count: 2, creationIntervalMs: 100, workloads: [${text}]}`;
const small = workloads('{className: small, runtimeMs: 200, priority: 50, request: 500m, podCount: 2}');

test('a configuration becomes projects with quotas and jobs with tasks', () => {
  const config = parseConfig(queue(small), 'a.yaml');
  const cohorts = cohortsOf(config);
  expect(cohorts.map(({ name, cpuMilli }) => [name, cpuMilli])).toEqual([
    ['cohort-0', 60_000],
    ['cohort-1', 60_000],
  ]);
  const { quotas } = policyOf(config, cohorts);
  expect(quotas).toHaveLength(8);
  expect(quotas[1]).toMatchObject({
    project: 'cohort-0/cq-0',
    guaranteed: { cpu: 20_000 },
    ceiling: { cpu: 120_000 },
    preemptWithin: 'lower-priority',
  });
  const arrivals = arrivalsOf(cohorts);
  expect(arrivals).toHaveLength(12);
  expect(arrivals.map(({ atMs }) => atMs)).toEqual([...Array(6).fill(100), ...Array(6).fill(200)]);
  const [first] = arrivals;
  expect(specOf(first!.queue, first!.workload)).toMatchObject({
    project: 'cohort-0/cq-0',
    priority: 50,
    groups: [{ demand: { tasks: 2, cpuMilli: 500 } }],
  });
  const cores = inventoriesOf(config, cohorts).reduce((sum, { cpuMilli }) => sum + cpuMilli, 0);
  expect(cores).toBeGreaterThanOrEqual(240_000);
});

test('a topology becomes labelled nodes, and its constraints become packing', () => {
  const more = `
topology:
  levels:
    - {name: block, count: 2, nodeLabel: x/block}
    - {name: rack, count: 3, nodeLabel: x/rack}
    - {name: node, count: 4, nodeLabel: host, capacity: {cpu: "96", memory: 256Gi}}
`;
  const packed = workloads(
    '{className: w, runtimeMs: 1, request: 1, tasConstraint: balanced, tasLevel: x/rack}',
  );
  const config = parseConfig(queue(packed, more), 'a.yaml');
  const cohorts = cohortsOf(config);
  const nodes = inventoriesOf(config, cohorts);
  expect(nodes).toHaveLength(24);
  expect(nodes[23]).toMatchObject({
    cpuMilli: 96_000,
    memoryMib: 262_144,
    labels: { 'x/block': 'd1', 'x/rack': 'd5' },
  });
  expect(policyOf(config, cohorts).topology.levels).toEqual(['x/block', 'x/rack']);
  const [{ queue: project, workload } = { queue: '', workload: null }] = arrivalsOf(cohorts);
  expect(specOf(project, workload!).topology).toEqual({ level: 'x/rack', mode: 'spread' });
});

test('the floor is the schedule, or what the quota can do', () => {
  const floorOf = (sets: string): number => {
    const cohorts = cohortsOf(parseConfig(queue(sets), 'a.yaml'));
    return floorMs(cohorts, arrivalsOf(cohorts));
  };
  // Room for all: the last is created at 200 and runs 200.
  expect(floorOf(small)).toBe(400);
  // Of six workloads with 30 cores each, two fit at a time: three turns from 100 on.
  expect(floorOf(workloads('{className: large, runtimeMs: 200, request: 30}'))).toBe(700);
});

test('what is not understood is refused, with its place', () => {
  const wrong = workloads('{className: w, runtimeMs: 1, request: 1, tasConstraint: near}');
  expect(() => parseConfig(queue(wrong), 'a.yaml')).toThrow(
    'a.yaml: cohorts[0]: queuesSets[0]: workloadsSets[0]: workloads[0]: tasConstraint "near" is none of',
  );
  expect(() => parseConfig(queue(workloads('{runtimeMs: 0, request: 1}')), 'a')).toThrow('runtimeMs is 0');
  expect(() => parseConfig('cohorts: 3', 'a')).toThrow('a: cohorts is not a list');
  expect(() => parseConfig('a: [', 'a')).toThrow('a is not YAML');
});
