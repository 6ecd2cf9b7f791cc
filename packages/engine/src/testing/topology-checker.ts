// Checks the promises of topology requests on a finished plan, from rows alone and without the engine's own words for them:
// together, near, evenly, in the narrowest place, and no more of a domain's resource than it has. Room only shrinks while
// a plan is made, so a domain that still has room when the plan is done had it when the gang was placed; unless that room may
// be kept for a job that waits, which is not free.
import type { EngineRows, GroupDemand, Plan, StartUnit, TaskPlacement } from '@muster/model';
import { plannedRun } from '../state.ts';
import { starts } from './plan-text.ts';
import { boxesOf, boxRoom, freePort, type Gang } from './reference-place.ts';
import { wholeFleet } from './reference-topology.ts';

type JobRow = EngineRows['jobs'][number];

/** Sentences about promises that the plan breaks. */
export function brokenPromises(rows: EngineRows, plan: Plan): string[] {
  const units = starts(plan);
  const after = withPlan(rows, plan);
  const jobs = new Map(after.jobs.map((row) => [row.job, row]));
  return [
    ...units.flatMap((unit) => brokenBy(after, jobs.get(unit.job)!, unit)),
    ...overused(
      after,
      units.flatMap((unit) => unit.tasks),
    ),
  ];
}

/** The rows with what the plan starts as runs, and with the claims it makes. */
function withPlan(rows: EngineRows, plan: Plan): EngineRows {
  const claims = new Map(
    plan.units.flatMap((unit) => (unit.kind === 'preempt' ? [[unit.job, unit.claim] as const] : [])),
  );
  const jobs = rows.jobs.map((row): JobRow => {
    const claim = claims.get(row.job);
    return claim && row.state.state === 'queued' ? { ...row, state: { ...row.state, claim } } : row;
  });
  return { ...rows, jobs, runs: [...rows.runs, ...starts(plan).map(plannedRun)] };
}

function placeOf(rows: EngineRows, node: string, level: string): string {
  const facts = rows.nodes.find((each) => each.node === node)!;
  const { levels } = rows.policy.topology;
  const names = levels.map((name) =>
    name === 'cluster' ? facts.cluster : (facts.inventory.labels[name] ?? ''),
  );
  const depth = level === 'node' ? levels.length : levels.indexOf(level);
  return [...names, node].slice(0, depth + 1).join('/');
}

function brokenBy(rows: EngineRows, row: JobRow, { tasks }: StartUnit): string[] {
  const { topology, groups } = row.demand;
  const of = (g: number): TaskPlacement[] => tasks.filter((task) => task.group === g);
  const broken = topology ? brokenIn(rows, row, null, topology, tasks) : [];
  for (const [g, group] of groups.entries()) {
    if (group.topology) broken.push(...brokenIn(rows, row, g, group.topology, of(g)));
    if (!group.near) continue;
    const { level, group: name } = group.near;
    const beside = new Set(
      of(groups.findIndex((each) => each.name === name)).map((task) => placeOf(rows, task.node, level)),
    );
    if (of(g).some((task) => !beside.has(placeOf(rows, task.node, level))))
      broken.push(`${row.job} group ${group.name} is not near ${name}`);
  }
  return broken;
}

function brokenIn(
  rows: EngineRows,
  row: JobRow,
  group: number | null,
  { level, mode }: NonNullable<GroupDemand['topology']>,
  tasks: readonly TaskPlacement[],
): string[] {
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const place = placeOf(rows, task.node, level);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  if (mode === 'required') return counts.size > 1 ? [`${row.job} is in ${counts.size} of ${level}`] : [];
  // The rest needs one kind of task and nothing else that narrows its places.
  const plain =
    row.demand.groups.length === 1 &&
    (group !== null || row.demand.groups[0]!.topology === null) &&
    row.demand.topology === (group === null ? row.demand.topology : null);
  if (!plain || row.demand.groups[0]!.accelerators.length > 1 || row.state.avoid.length > 0) return [];
  if (mayKeepRoom(rows)) return [];
  const rooms = roomsAfter(rows, row, level);
  if (mode === 'preferred')
    return counts.size > 1 && [...rooms].some(([, { tasks: room, port }]) => port && room >= tasks.length)
      ? [`${row.job} is in ${counts.size} of ${level} though one holds it`]
      : [];
  const most = Math.max(...counts.values());
  return [...rooms].flatMap(([place, { tasks: room }]) =>
    room > 0 && (counts.get(place) ?? 0) < most - 1
      ? [`${row.job} is not spread evenly: ${place} has room`]
      : [],
  );
}

/** Whether a job waits that may have a planned start. */
function mayKeepRoom({ policy, jobs, runs }: EngineRows): boolean {
  const { mode } = policy.backfill;
  const placed = new Set(runs.map((run) => run.job));
  return (
    (mode === 'easy' || mode === 'conservative') &&
    jobs.some(({ job, state }) => state.state === 'queued' && !placed.has(job))
  );
}

interface PlaceRoom {
  readonly tasks: number;
  /** Whether one of them could be the first, which needs a port of its node. */
  readonly port: boolean;
}

/** How many more tasks of the job's only group each place of a level holds, where no resource limits it. */
function roomsAfter(rows: EngineRows, row: JobRow, level: string): Map<string, PlaceRoom> {
  const rooms = new Map<string, PlaceRoom>();
  if (rows.policy.topology.resources.length > 0) return rooms;
  const boxes = boxesOf(rows);
  const choice = [row.demand.groups[0]!.accelerators[0] ?? null];
  const gang: Gang = {
    row,
    policy: rows.policy,
    choice,
    avoid: [],
    ground: wholeFleet,
    boxes,
    port: null,
    spread: new Map(),
  };
  for (const box of boxes) {
    const place = placeOf(rows, box.facts.node, level);
    const own = box.jobs.has(row.job);
    const room = own && row.demand.exclusive ? 0 : boxRoom(gang, 0, box);
    const { tasks, port } = rooms.get(place) ?? { tasks: 0, port: false };
    rooms.set(place, { tasks: tasks + room, port: port || (room > 0 && freePort(box) !== null) });
  }
  return rooms;
}

/** Domains that the plan added to and that are now above what they have. A changed policy may leave them above it before. */
function overused(rows: EngineRows, planned: readonly TaskPlacement[]): string[] {
  const { resources } = rows.policy.topology;
  return resources.flatMap(({ name, level, capacity, perDevice, perTask }) => {
    const takes = ({ node, devices, deviceMilli }: TaskPlacement): number => {
      const { inventory } = rows.nodes.find((each) => each.node === node)!;
      const each = devices.map((index) => {
        const device = inventory.devices[index];
        return device ? (perDevice[device.model] ?? perDevice[device.kind] ?? 0) : 0;
      });
      return perTask * 1000 + each.reduce((sum, watts) => sum + watts * deviceMilli, 0);
    };
    const used = new Map<string, number>();
    for (const task of rows.runs.flatMap((run) => run.tasks)) {
      const place = placeOf(rows, task.node, level);
      used.set(place, (used.get(place) ?? 0) + takes(task));
    }
    return planned.flatMap((task) => {
      const place = placeOf(rows, task.node, level);
      const { name: own } = rows.nodes.find((each) => each.node === task.node)!;
      const domain = level === 'node' ? own : place.split('/').at(-1)!;
      const limit = capacity[domain] ?? capacity.default;
      if (domain === '' || limit === undefined || takes(task) === 0) return [];
      if (used.get(place)! <= limit * 1000) return [];
      return [`${place} gives ${used.get(place)! / 1000} of ${name} and has ${limit}`];
    });
  });
}
