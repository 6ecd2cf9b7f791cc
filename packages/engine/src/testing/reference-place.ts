// The naive engine's placing: tries everything on copies of plain boxes, one box a node, in the order of order.ts.
import {
  type AcceleratorDemand,
  addUse,
  type Claim,
  type Constraint,
  type Device,
  defaultCpuMilli,
  deviceKeys,
  type EngineRows,
  type GroupDemand,
  type Hardware,
  type JobDemand,
  type JobId,
  type NodeFacts,
  type NodeId,
  type Policy,
  type Prices,
  runId,
  type StartUnit,
  share,
  type TaskPlacement,
  type Uses,
} from '@muster/model';
import { type Ground, groundsOf, placeGroup, resourceRoom, wholeFleet } from './reference-topology.ts';

export type JobRow = EngineRows['jobs'][number];
export type Unit = Omit<StartUnit, 'nodeGenerations'>;

export interface Box {
  readonly facts: NodeFacts;
  /** Ready and not draining. */
  readonly open: boolean;
  readonly mix: ReferenceMix;
  cpuMilli: number;
  memoryMib: number;
  /** Thousandths taken, by device index. */
  readonly taken: Map<number, number>;
  readonly ports: Set<number>;
  tasks: number;
  readonly jobs: Set<string>;
  exclusive: boolean;
  /** Of a box that stands for several moments: what is on it at each, and what it was made with. */
  readonly beside?: { readonly base: Load; readonly moments: readonly Load[] };
}

/** What of a box counts for the resources of its domains. */
export type Load = Pick<Box, 'tasks' | 'taken'>;

export function boxesOf(rows: EngineRows): Box[] {
  const boxes = rows.nodes
    .toSorted((a, b) => (a.node < b.node ? -1 : 1))
    .map((facts) => emptyBox(facts, mixOf(rows)));
  for (const run of rows.runs) {
    for (const task of run.tasks) {
      const box = boxes.find(({ facts }) => facts.node === task.node)!;
      box.tasks++;
      box.cpuMilli -= task.cpuMilli;
      box.memoryMib -= task.memoryMib;
      for (const device of task.devices)
        box.taken.set(device, (box.taken.get(device) ?? 0) + task.deviceMilli);
      box.jobs.add(run.job);
      box.exclusive ||= run.exclusive;
      if (task.rank === 0) box.ports.add(run.port);
    }
  }
  for (const { job, state } of rows.jobs)
    if (state.state === 'queued' && state.claim) addClaim(boxes, job, state.claim, rows.runs);
  return boxes;
}

/** What is claimed and held by no living victim of the claim is taken too. */
function addClaim(boxes: readonly Box[], job: JobId, claim: Claim, runs: EngineRows['runs']): void {
  const living = runs.filter(({ run }) => claim.victims.some((victim) => victim.run === run));
  for (const box of boxes) {
    const here = ({ node }: TaskPlacement): boolean => node === box.facts.node;
    const want = claim.tasks.filter(here);
    if (want.length === 0) continue;
    const held = living.flatMap((run) => run.tasks.filter(here));
    const open = (amount: (task: TaskPlacement) => number): number =>
      Math.max(0, sumOf(want, amount) - sumOf(held, amount));
    box.tasks += open(() => 1);
    box.cpuMilli -= open((task) => task.cpuMilli);
    box.memoryMib -= open((task) => task.memoryMib);
    for (const index of new Set(want.flatMap((task) => task.devices))) {
      const milli = open((task) => (task.devices.includes(index) ? task.deviceMilli : 0));
      if (milli > 0) box.taken.set(index, (box.taken.get(index) ?? 0) + milli);
    }
    box.jobs.add(job);
    box.exclusive ||= claim.exclusive;
    if (here(claim.tasks[0]!)) box.ports.add(claim.port);
  }
}

function sumOf(tasks: readonly TaskPlacement[], amount: (task: TaskPlacement) => number): number {
  return tasks.reduce((sum, task) => sum + amount(task), 0);
}

export function placeJob(
  boxes: readonly Box[],
  row: JobRow,
  policy: Policy,
  allows: (uses: Uses) => boolean = () => true,
): { boxes: Box[]; unit: Unit } | null {
  const avoid = row.state.avoid;
  for (const avoided of avoid.length > 0 ? [avoid, []] : [[]]) {
    const ways = choices(row.demand.groups).flatMap((choice, index) => {
      const gang: Gang = {
        row,
        policy,
        choice,
        avoid: avoided,
        ground: wholeFleet,
        boxes: [...boxes],
        port: null,
        spread: new Map(),
      };
      for (const ground of groundsOf(gang)) {
        const placed = placeInSomeOrder({ ...gang, ground });
        if (placed) return [{ placed, index, cost: costOf(gang, placed.unit) }];
      }
      return [];
    });
    const [best] = ways
      .filter(({ placed }) => allows(placed.unit.uses))
      .sort((a, b) => a.cost - b.cost || a.index - b.index);
    if (best) return best.placed;
  }
  return null;
}

function emptyBox(facts: NodeFacts, mix: ReferenceMix): Box {
  const { cpuMilli, memoryMib } = facts.inventory;
  return {
    facts,
    mix,
    open: facts.state === 'ready' && facts.drain === null,
    tasks: 0,
    cpuMilli,
    memoryMib,
    taken: new Map(),
    ports: new Set(),
    jobs: new Set(),
    exclusive: false,
  };
}

function costOf(gang: Gang, { tasks }: Unit): number {
  return tasks.reduce((sum, { node, group }) => {
    const box = gang.boxes.find(({ facts }) => facts.node === node)!;
    return sum + scoreOf(gang, group, box);
  }, 0);
}

/** What a task of the group costs on the box for an hour of its work. */
function scoreOf({ row, choice, policy }: Gang, g: number, { facts }: Box): number {
  const { prices, hardware } = policy;
  const group = row.demand.groups[g]!;
  const wanted = choice[g] ?? null;
  const labels = labelsOf(facts);
  const priceOf = (which: 'deviceHourMicro' | 'coreHourMicro', device: Device | null): number => {
    const values: Record<string, string | undefined> = {
      cluster: facts.cluster,
      pool: facts.pool,
      capacity: labels.get('capacity'),
      region: labels.get('region'),
      instanceType: labels.get('instance-type'),
      kind: device?.kind,
      model: device?.model,
    };
    const found = prices.rows.find(
      (price) =>
        price[which] !== null &&
        Object.entries(price.match).every(([key, value]) => value === undefined || values[key] === value),
    );
    return found?.[which] ?? prices[which];
  };
  const such = facts.inventory.devices.filter((device) => wanted && isSuch(device, wanted, hardware));
  const dearest = Math.max(0, ...such.map((device) => priceOf('deviceHourMicro', device)));
  const { cpuMilli } = amounts({ facts }, group, wanted);
  const devices = wanted ? Math.floor((dearest * wanted.milli) / 1000) : 0;
  const cores =
    wanted && group.cpuMilli === null ? 0 : Math.floor((priceOf('coreHourMicro', null) * cpuMilli) / 1000);
  const price = Math.floor(((devices + cores) * 1000) / (wanted?.speedMilli ?? 1000));
  const transfer = transferOf(row.demand, labels, prices.transfers, devices + cores);
  const unmet = row.demand.preferences.filter((rule) => !meets(labels.get(rule.label), rule));
  const points = unmet.reduce((sum, { weight }) => sum + weight, 0);
  const trust = Math.floor((price * (1000 - (facts.trustMilli ?? 1000))) / 1000);
  return price + points * prices.preferenceMicro + trust + transfer;
}

/** What bringing the job's data to a node costs one task, for each hour that it works. */
function transferOf(
  { data, groups }: JobDemand,
  labels: ReadonlyMap<string, string>,
  transfers: Prices['transfers'],
  hourMicro: number,
): number {
  if (!data) return 0;
  const places = [labels.get('region'), labels.get('cluster')];
  let [money, hours] = [0, 0];
  for (const { region, cluster, sizeMib } of data.parts) {
    if (region !== undefined && region === places[0]) continue;
    if (cluster !== undefined && cluster === places[1]) continue;
    const row = transfers.find(
      ({ from, to }) => [region, cluster, undefined].includes(from) && [...places, undefined].includes(to),
    );
    money += row ? (sizeMib / 1024) * row.gibMicro : 0;
    hours += row && row.gibPerHour !== null ? sizeMib / 1024 / row.gibPerHour : 0;
  }
  const tasks = groups.reduce((sum, group) => sum + group.tasks, 0);
  const once = Math.floor(money / tasks) + Math.floor(hourMicro * hours);
  return Math.floor((once * 3_600_000) / data.overMs);
}

/** Every choice of one alternative a group; the last group's moves fastest. */
export function choices(groups: readonly GroupDemand[]): (AcceleratorDemand | null)[][] {
  return groups.reduce<(AcceleratorDemand | null)[][]>(
    (heads, group) => {
      const options = group.accelerators.length === 0 ? [null] : group.accelerators;
      return heads.flatMap((head) => options.map((option) => [...head, option]));
    },
    [[]],
  );
}

/** A gang while it is being placed. */
export interface Gang {
  readonly row: JobRow;
  readonly policy: Policy;
  /** One alternative a group. */
  readonly choice: readonly (AcceleratorDemand | null)[];
  readonly avoid: readonly NodeId[];
  readonly ground: Ground;
  boxes: Box[];
  port: number | null;
  /** Tasks by domain, where the job is spread over all its groups. */
  spread: Map<string, number>;
}

export type Task = Omit<TaskPlacement, 'rank'>;
type Way = { readonly before: Box; readonly after: Box; readonly tasks: Task[] };

/** Larger tasks first, each after those it must be near to. */
export function firstOrder({ row, choice }: Gang): number[] {
  const sorted = row.demand.groups
    .map((_, g) => g)
    .sort((a, b) => (choice[b]?.milli ?? 0) - (choice[a]?.milli ?? 0) || a - b);
  return [...new Set(sorted.flatMap((g) => withTargets(row.demand, g)))];
}

function withTargets(demand: JobDemand, g: number): number[] {
  const near = demand.groups[g]!.near;
  if (near === null) return [g];
  return [
    ...withTargets(
      demand,
      demand.groups.findIndex(({ name }) => name === near.group),
    ),
    g,
  ];
}

/** A group that finds no place goes first next time, until it was first in vain. */
function placeInSomeOrder(gang: Gang): { boxes: Box[]; unit: Unit } | null {
  let order = firstOrder(gang);
  for (let tried = 0; tried < 8; tried++) {
    const placed = placeGang({ ...gang, spread: new Map() }, order);
    if (typeof placed !== 'number') return placed;
    const first = withTargets(gang.row.demand, placed);
    if (first.every((g, i) => g === order[i])) return null;
    order = [...first, ...order.filter((g) => !first.includes(g))];
  }
  return null;
}

/** The gang in its boxes, or the group that found no place. */
export function placeGang(gang: Gang, order: readonly number[]): { boxes: Box[]; unit: Unit } | number {
  const { groups } = gang.row.demand;
  const tasksOf: Task[][] = groups.map(() => []);
  for (const g of order) {
    tasksOf[g] = placeGroup(gang, g, tasksOf);
    if (tasksOf[g].length < groups[g]!.tasks) return g;
  }
  return { boxes: gang.boxes, unit: unitOf(gang, tasksOf.flat()) };
}

export function unitOf({ row, boxes, port }: Gang, placed: readonly Task[]): Unit {
  const tasks = placed.map((task, rank) => ({ rank, ...task }));
  const { attempt } = row.state;
  return {
    kind: 'start',
    job: row.job,
    jobVersion: row.version,
    run: runId(row.job, attempt),
    attempt,
    exclusive: row.demand.exclusive,
    tasks,
    port: port!,
    uses: usesOf(boxes, tasks),
  };
}

/** What the tasks use where they are. */
function usesOf(boxes: readonly Box[], tasks: readonly TaskPlacement[]): Uses {
  const uses: Record<string, number> = {};
  for (const { node, cpuMilli, memoryMib, devices, deviceMilli } of tasks) {
    addUse(uses, 'cpu', cpuMilli);
    addUse(uses, 'memory', memoryMib);
    const { inventory } = boxes.find((box) => box.facts.node === node)!.facts;
    for (const index of devices) {
      const device = inventory.devices.find((each) => each.index === index)!;
      for (const key of deviceKeys(device)) addUse(uses, key, deviceMilli);
    }
  }
  return uses;
}

/** A single task when jobs of several kinds are there: the lowest score and least stranded, then as ever. */
export function placeOne(gang: Gang, g: number): Task[] {
  const { deviceHourMicro } = gang.policy.prices;
  const strandedBy = ({ before, after }: Way): number => {
    const milli = strandedOn(after) - strandedOn(before);
    return Math.trunc((milli * deviceHourMicro) / 1000);
  };
  const score = (way: Way): number => scoreOf(gang, g, way.before) + strandedBy(way);
  const [best] = gang.boxes
    .filter((box) => mayUse(gang, box) && (g !== 0 || freePort(box) !== null))
    .map((box) => fill(gang, g, box, Math.min(1, resourceRoom(gang, g, box))))
    .filter((way) => way.tasks.length > 0)
    .sort((a, b) => score(a) - score(b) || better(a, b));
  if (!best) return [];
  if (g === 0) gang.port = freePort(best.after);
  if (g === 0) best.after.ports.add(gang.port!);
  gang.boxes = gang.boxes.map((box) => (box.facts === best.after.facts ? best.after : box));
  return best.tasks;
}

/** Free thousandths of devices without the cores that go with them in the mix of jobs. */
function strandedOn(box: Box): number {
  const { cpuMilli, milli } = box.mix;
  const ratio = Math.min(4 * 2 ** 20, Math.floor((milli * 2 ** 20) / cpuMilli));
  return Math.max(0, freeMilli(box) - Math.floor((Math.max(0, box.cpuMilli) * ratio) / 2 ** 20));
}

export interface ReferenceMix {
  readonly kinds: number;
  readonly cpuMilli: number;
  readonly milli: number;
}

/** All tasks of jobs that are not over and that name their devices and cores. */
function mixOf(rows: EngineRows): ReferenceMix {
  const kinds = new Set<string>();
  const sum = { cpuMilli: 0, milli: 0 };
  for (const { tasks, cpuMilli, accelerators } of rows.jobs.flatMap(({ demand }) => demand.groups)) {
    const milli = accelerators[0]?.milli;
    if (milli === undefined || cpuMilli === null) continue;
    kinds.add(`${cpuMilli}/${milli}`);
    sum.cpuMilli += tasks * cpuMilli;
    sum.milli += tasks * milli;
  }
  return { kinds: kinds.size, ...sum };
}

/** As many of `count` tasks as fit into the boxes named, node by node in the order of order.ts; or those with the lowest ids first. */
export function fillNodes(
  gang: Gang,
  g: number,
  nodes: ReadonlySet<NodeId>,
  count: number,
  lowest = false,
): Task[] {
  const compare = lowest ? () => 0 : better;
  const tasks: Task[] = [];
  while (tasks.length < count) {
    const needsPort: boolean = g === 0 && gang.port === null;
    const [best] = gang.boxes
      .filter((box) => nodes.has(box.facts.node) && mayUse(gang, box))
      .filter((box) => !needsPort || freePort(box) !== null)
      .map((box) => fill(gang, g, box, Math.min(count - tasks.length, resourceRoom(gang, g, box)), lowest))
      .filter((way) => way.tasks.length > 0)
      .sort((a, b) => scoreOf(gang, g, a.before) - scoreOf(gang, g, b.before) || compare(a, b));
    if (!best) break;
    if (needsPort) gang.port = freePort(best.after);
    if (needsPort) best.after.ports.add(gang.port!);
    tasks.push(...best.tasks);
    gang.boxes = gang.boxes.map((box) => (box.facts === best.after.facts ? best.after : box));
  }
  return tasks;
}

export function mayUse({ avoid, row }: Gang, box: Box): boolean {
  return box.open && !avoid.includes(box.facts.node) && admits(box, row.demand);
}

/** More than any node of a test holds. */
const many = 1000;

/** How many tasks of the group the box holds by itself. */
export function boxRoom(gang: Gang, g: number, box: Box): number {
  return mayUse(gang, box) ? fill(gang, g, box, many).tasks.length : 0;
}

/** What a task of the group needs of each resource on this box, at most; null where it could never run. */
export function resourceNeeds(gang: Gang, g: number, { facts, mix }: Box): number[] | null {
  const wanted = gang.choice[g] ?? null;
  const { inventory } = facts;
  const such = wanted
    ? inventory.devices.filter((device) => isSuch(device, wanted, gang.policy.hardware))
    : [];
  const empty = { ...emptyBox(facts, mix), open: true };
  if (!admits(empty, gang.row.demand) || fill(gang, g, empty, 1).tasks.length === 0) return null;
  return gang.policy.topology.resources.map(({ perDevice, perTask }) => {
    const each = such.map(({ kind, model }) => perDevice[model] ?? perDevice[kind] ?? 0);
    return perTask * 1000 + (wanted ? Math.max(...each) * wanted.milli : 0);
  });
}

/** Most tasks first; then fewest untouched devices opened; then least left over; then the lowest node id. */
function better(a: Way, b: Way): number {
  return (
    b.tasks.length - a.tasks.length ||
    opened(a) - opened(b) ||
    untouched(a.after) - untouched(b.after) ||
    freeMilli(a.after) - freeMilli(b.after) ||
    Math.max(0, a.after.cpuMilli) - Math.max(0, b.after.cpuMilli) ||
    Math.max(0, a.after.memoryMib) - Math.max(0, b.after.memoryMib) ||
    (a.after.facts.node < b.after.facts.node ? -1 : 1)
  );
}

/** The box after taking tasks one by one until it has enough or no more fit. */
function fill({ row, choice, policy }: Gang, g: number, before: Box, atMost: number, lowest = false): Way {
  const group = row.demand.groups[g]!;
  const wanted = choice[g] ?? null;
  const after = copyBox(before);
  const tasks: Task[] = [];
  const foreign = [...before.jobs].some((job) => job !== row.job);
  if (foreign && (row.demand.exclusive || before.exclusive)) return { before, after, tasks };
  const { cpuMilli, memoryMib } = amounts(after, group, wanted);
  const deviceMilli = Math.min(1000, wanted?.milli ?? 1000);
  while (tasks.length < atMost) {
    const devices = wanted === null ? [] : pickDevices(after, wanted, policy.hardware, lowest);
    if (!devices || after.cpuMilli < cpuMilli || after.memoryMib < memoryMib) break;
    after.tasks++;
    after.cpuMilli -= cpuMilli;
    after.memoryMib -= memoryMib;
    for (const device of devices) after.taken.set(device, (after.taken.get(device) ?? 0) + deviceMilli);
    after.jobs.add(row.job);
    after.exclusive ||= row.demand.exclusive;
    tasks.push({ group: g, node: after.facts.node, cpuMilli, memoryMib, devices, deviceMilli });
  }
  return { before, after, tasks };
}

function amounts(box: Pick<Box, 'facts'>, group: GroupDemand, wanted: AcceleratorDemand | null) {
  const { inventory } = box.facts;
  const total = inventory.devices.length * 1000;
  const cpuMilli =
    group.cpuMilli ?? (wanted ? share(inventory.cpuMilli, wanted.milli, total) : defaultCpuMilli);
  const memoryMib =
    group.memoryMib ??
    (wanted
      ? share(inventory.memoryMib, wanted.milli, total)
      : share(inventory.memoryMib, cpuMilli, inventory.cpuMilli));
  return { cpuMilli, memoryMib };
}

/**
 * A part: the fullest device with room, then the lowest. Whole: the shortest run of neighbours long enough, else the lowest. Where
 * `lowest` is wanted: the lowest device with room, the lowest run.
 */
function pickDevices(
  box: Box,
  wanted: AcceleratorDemand,
  hardware: readonly Hardware[],
  lowest: boolean,
): number[] | null {
  const { inventory } = box.facts;
  const matching = inventory.devices.filter((device) => isSuch(device, wanted, hardware));
  const taken = (index: number): number => box.taken.get(index) ?? 0;
  if (wanted.milli < 1000) {
    if (!inventory.capabilities.includes('fractions')) return null;
    const [fullest] = matching
      .map((device) => device.index)
      .filter((index) => taken(index) + wanted.milli <= 1000)
      .sort((a, b) => (lowest ? 0 : taken(b) - taken(a)) || a - b);
    return fullest === undefined ? null : [fullest];
  }
  const count = wanted.milli / 1000;
  const free = matching.map((device) => device.index).filter((index) => taken(index) === 0);
  if (free.length < count) return null;
  const neighbours: number[][] = [];
  for (const index of free.sort((a, b) => a - b)) {
    const run = neighbours.at(-1);
    if (run && run.at(-1) === index - 1) run.push(index);
    else neighbours.push([index]);
  }
  const long = neighbours
    .filter((run) => run.length >= count)
    .sort((a, b) => (lowest ? 0 : a.length - b.length))[0];
  return (long ?? free).slice(0, count);
}

export function isSuch(device: Device, wanted: AcceleratorDemand, hardware: readonly Hardware[]): boolean {
  const known = hardware.find(({ kind, model }) => kind === device.kind && model === device.model);
  const link = device.interconnect ?? known?.interconnect ?? null;
  const generation = device.generation ?? known?.generation ?? -1;
  return (
    device.kind === wanted.kind &&
    (wanted.model === null || device.model === wanted.model) &&
    (wanted.memoryMib === null || device.memoryMib >= wanted.memoryMib) &&
    (wanted.interconnect === null || link === wanted.interconnect) &&
    (wanted.generation === null || generation >= wanted.generation)
  );
}

const labelsKnown = new WeakMap<NodeFacts, ReadonlyMap<string, string>>();

function labelsOf(facts: NodeFacts): ReadonlyMap<string, string> {
  const own = { cluster: facts.cluster, pool: facts.pool, node: facts.name };
  const all = labelsKnown.get(facts) ?? new Map(Object.entries({ ...facts.inventory.labels, ...own }));
  labelsKnown.set(facts, all);
  return all;
}

export function admits({ facts }: Pick<Box, 'facts'>, demand: JobDemand): boolean {
  const labels = labelsOf(facts);
  return (
    demand.constraints.every((rule) => meets(labels.get(rule.label), rule)) &&
    demand.capabilities.every((capability) => facts.inventory.capabilities.includes(capability))
  );
}

function meets(value: string | undefined, rule: Constraint): boolean {
  if (rule.op === 'absent') return value === undefined;
  if (rule.op === 'exists') return value !== undefined;
  const among = value !== undefined && rule.values.includes(value);
  return rule.op === 'in' ? among : !among;
}

export function freePort(box: Box): number | null {
  const { first, count } = box.facts.inventory.ports;
  for (let port = first; port < first + count; port++) if (!box.ports.has(port)) return port;
  return null;
}

function untouched(box: Box): number {
  return box.facts.inventory.devices.filter(({ index }) => !box.taken.has(index)).length;
}

function opened({ before, after }: Way): number {
  return untouched(before) - untouched(after);
}

function freeMilli(box: Box): number {
  return box.facts.inventory.devices.reduce((sum, { index }) => sum + 1000 - (box.taken.get(index) ?? 0), 0);
}

function copyBox(box: Box): Box {
  return { ...box, taken: new Map(box.taken), ports: new Set(box.ports), jobs: new Set(box.jobs) };
}
