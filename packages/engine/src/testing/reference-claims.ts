// The naive engine's claims: those that are lost are given up, those whose victims are all gone become starts.
import {
  type Claim,
  type EngineRows,
  type GroupDemand,
  type NodeFacts,
  runId,
  type TaskPlacement,
} from '@muster/model';
import type { Bare } from './reference.ts';
import { admits, boxesOf, isSuch, type JobRow, type Unit } from './reference-place.ts';

export function settle(rows: EngineRows, row: JobRow): Bare[] {
  if (row.state.state !== 'queued' || row.state.claim === null) return [];
  const { claim } = row.state;
  const living = livingVictims(rows, claim);
  const lost =
    claim.tasks.some(
      (task) => isLost(rows, row, claim, task.node) || (living.length === 0 && isOver(rows, task)),
    ) || !isAsAsked(rows, row, claim);
  if (lost) return [{ kind: 'release', ...baseOf(row), reason: { code: 'claim-lost', message: '' } }];
  const { victims: _, ...places } = claim;
  return living.length > 0 ? [] : [{ kind: 'start', ...baseOf(row), ...places }];
}

/** Whether the claim waits for victims while a node of it does not answer. */
export function isStuck(rows: EngineRows, row: JobRow): boolean {
  if (row.state.state !== 'queued' || row.state.claim === null || settle(rows, row).length > 0) return false;
  const { tasks } = row.state.claim;
  return tasks.some(({ node: id }) => rows.nodes.find(({ node }) => node === id)?.state === 'silent');
}

function livingVictims(rows: EngineRows, { victims }: Claim) {
  return rows.runs.filter(({ run }) => victims.some((victim) => victim.run === run));
}

function isLost(rows: EngineRows, row: JobRow, claim: Claim, id: string): boolean {
  const node = rows.nodes.find((facts) => facts.node === id);
  if (!node || node.drain !== null || node.state === 'lost') return true;
  const living = livingVictims(rows, claim);
  if (node.state === 'silent' && living.length === 0) return true;
  const here = claim.tasks.filter((task) => task.node === id);
  const others = rows.runs
    .filter((run) => !living.includes(run))
    .flatMap((run) => run.tasks.filter((task) => task.node === id));
  const used = (key: 'cpuMilli' | 'memoryMib'): number =>
    [...here, ...others].reduce((sum, task) => sum + task[key], 0) + foreignClaims(rows, row, id, key);
  const { cpuMilli, memoryMib, devices } = node.inventory;
  if (used('cpuMilli') > cpuMilli || used('memoryMib') > memoryMib) return true;
  return here.some((task) => task.devices.some((index) => index >= devices.length));
}

/** Whether the places are still such as the job asks for. */
function isAsAsked(rows: EngineRows, { demand }: JobRow, { tasks }: Claim): boolean {
  const factsOf = (id: string): NodeFacts => rows.nodes.find(({ node }) => node === id)!;
  const { hardware, topology } = rows.policy;
  const suitable = tasks.every(({ node, group, devices }) => {
    const facts = factsOf(node);
    const { accelerators } = demand.groups[group]!;
    const such = accelerators.some((wanted) =>
      devices.every((index) => {
        const device = facts.inventory.devices.find((each) => each.index === index);
        return device && isSuch(device, wanted, hardware);
      }),
    );
    return admits({ facts }, demand) && (accelerators.length === 0 || such);
  });
  const places = (of: readonly TaskPlacement[], level: string): Set<string> => {
    const depth = [...topology.levels, 'node'].indexOf(level) + 1;
    return new Set(
      of.map(({ node }) => [...pathOf(topology.levels, factsOf(node)), node].slice(0, depth).join('\0')),
    );
  };
  const together = (of: readonly TaskPlacement[], asked: GroupDemand['topology']): boolean =>
    asked?.mode !== 'required' || places(of, asked.level).size <= 1;
  return (
    suitable &&
    together(tasks, demand.topology) &&
    demand.groups.every(({ topology: asked, near }, g) => {
      const own = tasks.filter(({ group }) => group === g);
      const others = tasks.filter(({ group }) => demand.groups[group]!.name === near?.group);
      return (
        together(own, asked) &&
        (near === null ||
          [...places(own, near.level)].every((place) => places(others, near.level).has(place)))
      );
    })
  );
}

function pathOf(levels: readonly string[], { name: node, cluster, pool, inventory }: NodeFacts): string[] {
  const own: Readonly<Record<string, string>> = { ...inventory.labels, cluster, pool, node };
  return levels.map((name) => own[name] ?? '');
}

/** Whether a domain above the task's node gives more of a resource than it has, and the task takes some of it. */
function isOver(rows: EngineRows, { node, devices }: TaskPlacement): boolean {
  const { levels, resources } = rows.policy.topology;
  const boxes = boxesOf(rows);
  const { facts } = boxes.find((box) => box.facts.node === node)!;
  return resources.some(({ level, capacity, perDevice, perTask }) => {
    const names = [...levels, 'node'];
    const places = names.slice(0, names.indexOf(level) + 1);
    const name = pathOf(places, facts).at(-1)!;
    const limit = name === '' ? undefined : (capacity[name] ?? capacity.default);
    const each = (of: NodeFacts, index: number): number => {
      const device = of.inventory.devices.find((one) => one.index === index);
      return device ? (perDevice[device.model] ?? perDevice[device.kind] ?? 0) : 0;
    };
    const used = boxes
      .filter((box) => pathOf(places, box.facts).join('\0') === pathOf(places, facts).join('\0'))
      .map((box) =>
        [...box.taken].reduce(
          (sum, [index, milli]) => sum + milli * each(box.facts, index),
          box.tasks * perTask * 1000,
        ),
      )
      .reduce((a, b) => a + b, 0);
    const takes = perTask > 0 || devices.some((index) => each(facts, index) > 0);
    return takes && limit !== undefined && used > limit * 1000;
  });
}

/** What claims of other jobs take of a node beyond what their own victims still hold there. */
function foreignClaims(rows: EngineRows, own: JobRow, node: string, key: 'cpuMilli' | 'memoryMib'): number {
  let sum = 0;
  for (const { job, state } of rows.jobs) {
    if (job === own.job || state.state !== 'queued' || !state.claim) continue;
    const on = (list: readonly { node: string; cpuMilli: number; memoryMib: number }[]): number =>
      list.filter((task) => task.node === node).reduce((total, task) => total + task[key], 0);
    const held = livingVictims(rows, state.claim).flatMap((run) => run.tasks);
    sum += Math.max(0, on(state.claim.tasks) - on(held));
  }
  return sum;
}

export function baseOf(row: JobRow) {
  const { attempt } = row.state;
  return { job: row.job, jobVersion: row.version, run: runId(row.job, attempt), attempt };
}

export function withRun(rows: EngineRows, unit: Unit, plannedMs: number): EngineRows {
  const { run, job, attempt, exclusive, tasks, port, uses } = unit;
  const live = { run, job, attempt, exclusive, tasks, port, uses };
  return {
    ...rows,
    runs: [...rows.runs, { ...live, plannedMs, startedMs: null, checkpointMs: null, stopping: false }],
  };
}

export function withClaim(rows: EngineRows, { job }: JobRow, claim: Claim): EngineRows {
  const stopped = new Set(claim.victims.map((victim) => victim.run));
  return {
    ...rows,
    jobs: rows.jobs.map((row) =>
      row.job === job ? { ...row, state: { ...row.state, claim } as JobRow['state'] } : row,
    ),
    runs: rows.runs.map((run) => (stopped.has(run.run) ? { ...run, stopping: true } : run)),
  };
}
