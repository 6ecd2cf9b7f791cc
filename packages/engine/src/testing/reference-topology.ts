// The naive engine's topology: a domain is the start of a path of names, and its room is counted anew whenever it is asked.
import type { NodeId } from '@muster/model';
import {
  type Box,
  boxRoom,
  fillNodes,
  firstOrder,
  freePort,
  type Gang,
  type Load,
  placeOne,
  resourceNeeds,
  type Task,
} from './reference-place.ts';

/** A domain: its level (-1 is the fleet) and the names on its path. */
interface Domain {
  readonly level: number;
  readonly path: string;
}

export interface Ground {
  readonly region: Domain;
  /** Level down to which few domains are used. */
  readonly packLevel: number;
  /** Where groups tied by `near` are all put; null where they may choose. */
  readonly near: Domain | null;
}

const fleet: Domain = { level: -1, path: '' };
export const wholeFleet: Ground = { region: fleet, packLevel: -1, near: null };

function levelOf(gang: Gang, name: string): number | null {
  const names = [...gang.policy.topology.levels, 'node'];
  return names.includes(name) ? names.indexOf(name) : null;
}

function domainOf(gang: Gang, { facts }: Box, level: number): Domain {
  const { labels } = facts.inventory;
  const names = gang.policy.topology.levels.map((name) =>
    name === 'cluster' ? facts.cluster : name === 'pool' ? facts.pool : (labels[name] ?? ''),
  );
  return { level, path: [...names, facts.node].slice(0, level + 1).join('\0') };
}

/** The narrowest domain that a job of one group must be wholly in if it has a task on the box; null where there is none. */
export function requiredDomain(gang: Gang, box: Box): string | null {
  const { topology, groups } = gang.row.demand;
  const levels = [topology, groups[0]!.topology].flatMap((asked) =>
    asked?.mode === 'required' ? [levelOf(gang, asked.level)] : [],
  );
  return levels.includes(null) ? null : domainOf(gang, box, Math.max(-1, ...levels.map(Number))).path;
}

function boxesIn(gang: Gang, domain: Domain): Box[] {
  return gang.boxes.filter((box) => domainOf(gang, box, domain.level).path === domain.path);
}

/** The domains of a level inside one, by path. */
function within(gang: Gang, domain: Domain, level: number): Domain[] {
  const paths = boxesIn(gang, domain).map((box) => domainOf(gang, box, level).path);
  return [...new Set(paths)].sort().map((path) => ({ level, path }));
}

/** A domain that has to hold all tasks. */
export interface Required {
  readonly nodes: ReadonlySet<NodeId>;
  readonly ground: Ground;
}

/** Of a job all of whose tasks must be in one domain: each such domain, by path; null where there is no such level. */
export function requiredDomains(gang: Gang): Required[] | null {
  const { topology, groups } = gang.row.demand;
  const asked = topology ?? (groups.length === 1 ? groups[0]!.topology : null);
  const level = asked?.mode === 'required' ? levelOf(gang, asked.level) : null;
  if (level === null) return null;
  return within(gang, fleet, level).map((region) => ({
    nodes: new Set(boxesIn(gang, region).map(({ facts }) => facts.node)),
    ground: { region, packLevel: level, near: null },
  }));
}

/** Where a gang goes that may be in several domains. */
export function openGround(gang: Gang): Ground {
  const { topology } = gang.row.demand;
  const level = topology?.mode === 'preferred' ? levelOf(gang, topology.level) : null;
  return { ...wholeFleet, packLevel: level ?? -1 };
}

/** Where the gang is tried, in this order: what its own topology lets it, then with groups that must be near each other together. */
export function groundsOf(gang: Gang): Ground[] {
  const unrestricted = { ...gang, avoid: [] };
  const grounds = ownGrounds(unrestricted);
  return [...grounds, ...grounds.flatMap((ground) => nearGrounds(unrestricted, ground))];
}

function ownGrounds(gang: Gang): Ground[] {
  const { topology } = gang.row.demand;
  if (topology === null || topology.mode === 'spread') return [wholeFleet];
  const level = levelOf(gang, topology.level);
  if (level === null) return [];
  const grounds: Ground[] = [];
  for (let l = level; l >= (topology.mode === 'required' ? level : 0); l--)
    for (const region of holdingAll(gang, firstOrder(gang), fleet, l))
      grounds.push({ region, packLevel: level, near: null });
  // What is preferred makes no job wait, also where its room is counted by the most that a task may take.
  if (topology.mode === 'preferred')
    for (const packLevel of [level, -1]) grounds.push({ region: fleet, packLevel, near: null });
  return grounds;
}

function nearGrounds(gang: Gang, ground: Ground): Ground[] {
  const asked = gang.row.demand.groups.flatMap(({ near }) => (near ? [levelOf(gang, near.level)] : []));
  const levels = [...new Set(asked)].filter((level) => level !== null).sort((a, b) => a - b);
  if (asked.includes(null)) return [];
  const tied = firstOrder(gang).filter((g) => isTied(gang, g));
  return levels
    .filter((level) => level > ground.region.level)
    .flatMap((level) => holdingAll(gang, tied, ground.region, level))
    .map((near) => ({ ...ground, near }));
}

function isTied({ row }: Gang, g: number): boolean {
  const { groups } = row.demand;
  return groups[g]!.near !== null || groups.some(({ near }) => near?.group === groups[g]!.name);
}

/** Domains with room for each of the groups by itself, those with least room for the first of them first. */
function holdingAll(gang: Gang, order: readonly number[], region: Domain, level: number): Domain[] {
  const tasks = (g: number): number => gang.row.demand.groups[g]!.tasks;
  const [leader, ...others] = order;
  return holding(gang, leader!, everywhere, region, level, tasks(leader!)).filter((domain) =>
    others.every((g) => roomOf(gang, g, everywhere, domain) >= tasks(g)),
  );
}

type Near = (box: Box) => boolean;
const everywhere: Near = () => true;

/** Domains with room for all, those with least room first. */
function holding(gang: Gang, g: number, near: Near, region: Domain, level: number, tasks: number): Domain[] {
  const needs = leastNeeds(gang, g);
  return within(gang, region, level)
    .map((domain) => ({ domain, room: roomOf(gang, g, near, domain, needs) }))
    .filter(({ room }) => room >= tasks)
    .sort((a, b) => a.room - b.room || (a.domain.path < b.domain.path ? -1 : 1))
    .map(({ domain }) => domain);
}

function roomOf(gang: Gang, g: number, near: Near, domain: Domain, needs = leastNeeds(gang, g)): number {
  const isNode = domain.level === gang.policy.topology.levels.length;
  const sum =
    isNode || gang.policy.topology.resources.length === 0
      ? boxesIn(gang, domain)
          .filter(near)
          .reduce((rooms, box) => rooms + boxRoom(gang, g, box), 0)
      : within(gang, domain, domain.level + 1).reduce(
          (rooms, child) => rooms + roomOf(gang, g, near, child, needs),
          0,
        );
  const own = isNode ? resourceNeeds(gang, g, boxesIn(gang, domain)[0]!) : null;
  return Math.min(sum, limitOf(gang, own ?? needs, domain));
}

/** Of each resource the least a task needs anywhere. */
function leastNeeds(gang: Gang, g: number): number[] {
  if (gang.policy.topology.resources.length === 0) return [];
  const all = gang.boxes.flatMap((box) => {
    const needs = resourceNeeds(gang, g, box);
    return needs === null ? [] : [needs];
  });
  return gang.policy.topology.resources.map((_, r) => Math.min(...all.map((needs) => needs[r]!)));
}

/** How many tasks the resources of this very domain allow. */
function limitOf(gang: Gang, needs: readonly number[], domain: Domain): number {
  const { resources, levels } = gang.policy.topology;
  const name =
    domain.level === levels.length ? boxesIn(gang, domain)[0]!.facts.name : domain.path.split('\0').at(-1)!;
  let limit = Number.POSITIVE_INFINITY;
  for (const [r, { level, capacity, perDevice, perTask }] of resources.entries()) {
    const amount = capacity[name] ?? capacity.default;
    if (levelOf(gang, level) !== domain.level || name === '' || amount === undefined || needs[r] === 0)
      continue;
    const useOf = ({ facts }: Box, { tasks, taken }: Load): number =>
      facts.inventory.devices.reduce(
        (sum, { index, kind, model }) =>
          sum + (taken.get(index) ?? 0) * (perDevice[model] ?? perDevice[kind] ?? 0),
        tasks * perTask * 1000,
      );
    const boxes = boxesIn(gang, domain);
    const moments = gang.boxes[0]?.beside?.moments.length ?? 1;
    const sums = Array.from({ length: moments }, (_, m) =>
      boxes.reduce((sum, box) => {
        const { beside } = box;
        const own = useOf(box, box) - (beside ? useOf(box, beside.base) : 0);
        return sum + own + (beside ? useOf(box, beside.moments[m]!) : 0);
      }, 0),
    );
    const used = Math.max(...sums);
    limit = Math.min(limit, Math.floor(Math.max(0, amount * 1000 - used) / needs[r]!));
  }
  return limit;
}

/** How many tasks the resources of all domains above a box allow there. */
export function resourceRoom(gang: Gang, g: number, box: Box): number {
  if (gang.policy.topology.resources.length === 0) return Number.POSITIVE_INFINITY;
  const needs = resourceNeeds(gang, g, box);
  if (needs === null) return 0;
  const levels = [...gang.policy.topology.levels, 'node'].map((_, level) => level);
  return Math.min(...levels.map((level) => limitOf(gang, needs, domainOf(gang, box, level))));
}

/** As many tasks of the group as found a place. */
export function placeGroup(gang: Gang, g: number, tasksOf: readonly (readonly Task[])[]): Task[] {
  const { demand } = gang.row;
  const { tasks, topology, near: ask } = demand.groups[g]!;
  const { packLevel } = gang.ground;
  const region = (isTied(gang, g) ? gang.ground.near : null) ?? gang.ground.region;
  const asked = topology ?? (demand.topology?.mode === 'spread' ? demand.topology : null);
  let near = everywhere;
  if (ask) {
    const level = levelOf(gang, ask.level);
    if (level === null) return [];
    const target = tasksOf[demand.groups.findIndex(({ name }) => name === ask.group)]!;
    const domains = new Set(
      target.map(
        ({ node }) => domainOf(gang, gang.boxes.find(({ facts }) => facts.node === node)!, level).path,
      ),
    );
    near = (box) => domains.has(domainOf(gang, box, level).path);
  }
  const anyPlace = asked === null && ask === null && region === fleet && packLevel < 0;
  if (anyPlace && gang.policy.backfill.mode === 'conservative')
    return fillNodes(gang, g, new Set(gang.boxes.map(({ facts }) => facts.node)), tasks, true);
  if (anyPlace && tasks === 1 && gang.boxes.some(({ mix }) => mix.kinds > 1)) return placeOne(gang, g);
  if (asked === null) return pack(gang, g, near, region, packLevel, tasks);
  const level = levelOf(gang, asked.level);
  if (level === null) return [];
  if (asked.mode === 'spread') return spread(gang, g, near, region, level, tasks);
  const widest = asked.mode === 'required' ? level : region.level;
  for (let l = level; l >= Math.max(widest, region.level + 1); l--) {
    for (const domain of holding(gang, g, near, region, l, tasks)) {
      const attempt = { ...gang };
      const placed = pack(attempt, g, near, domain, level, tasks);
      if (placed.length < tasks) continue;
      Object.assign(gang, { boxes: attempt.boxes, port: attempt.port });
      return placed;
    }
  }
  if (asked.mode === 'required' && level > region.level) return [];
  const attempt = { ...gang };
  const placed = pack(attempt, g, near, region, level, tasks);
  if (placed.length === tasks || asked.mode === 'required') {
    Object.assign(gang, { boxes: attempt.boxes, port: attempt.port });
    return placed;
  }
  return pack(gang, g, near, region, -1, tasks);
}

/** Down to a level, few domains: the tightest that holds all that is left, else the one that holds most. */
function pack(gang: Gang, g: number, near: Near, domain: Domain, level: number, tasks: number): Task[] {
  if (domain.level >= level) {
    const nodes = new Set<NodeId>(
      boxesIn(gang, domain)
        .filter(near)
        .map(({ facts }) => facts.node),
    );
    return fillNodes(gang, g, nodes, tasks);
  }
  const wanted = Math.min(tasks, roomOf(gang, g, near, domain));
  let children = within(gang, domain, domain.level + 1).map((child) => ({
    child,
    room: roomOf(gang, g, near, child),
  }));
  const placed: Task[] = [];
  while (placed.length < wanted) {
    const left = wanted - placed.length;
    const able = children.filter(({ child }) => mayBegin(gang, g, near, child));
    const enough = able.filter(({ room }) => room >= left);
    const [best] =
      enough.length > 0
        ? enough.sort((a, b) => a.room - b.room || (a.child.path < b.child.path ? -1 : 1))
        : able
            .filter(({ room }) => room > 0)
            .sort((a, b) => b.room - a.room || (a.child.path < b.child.path ? -1 : 1));
    if (!best) break;
    const part = Math.min(left, best.room);
    const done = pack(gang, g, near, best.child, level, part);
    placed.push(...done);
    if (done.length < part) break;
    children = children.filter((other) => other !== best);
  }
  return placed;
}

/** Whether the next task of the group may go into the domain: the gang's first one needs a node with a free port. */
function mayBegin(gang: Gang, g: number, near: Near, domain: Domain): boolean {
  if (g !== 0 || gang.port !== null) return true;
  const ready = boxesIn(gang, domain).filter((box) => near(box) && freePort(box) !== null);
  return ready.some((box) => Math.min(boxRoom(gang, g, box), resourceRoom(gang, g, box)) > 0);
}

/** One task after the other to the domain with fewest, then least room, then first by path; the first one where it may begin. */
function spread(gang: Gang, g: number, near: Near, region: Domain, level: number, tasks: number): Task[] {
  const ofJob = gang.row.demand.groups[g]!.topology === null;
  const counts = ofJob ? gang.spread : new Map<string, number>();
  // A gang that is inside one domain of the level already is as even as can be.
  const domains = (level <= region.level ? [region] : within(gang, region, level))
    .map((domain) => ({
      domain,
      room: roomOf(gang, g, near, domain),
      begins: mayBegin(gang, g, near, domain),
      part: 0,
    }))
    .filter(({ room }) => room > 0);
  for (let i = 0; i < tasks; i++) {
    const [next] = domains
      .filter(({ room, part, begins }) => part < room && (i > 0 || begins))
      .sort((a, b) => {
        const [one, two] = [a, b].map((each) => (counts.get(each.domain.path) ?? 0) + each.part);
        return one! - two! || a.room - a.part - (b.room - b.part) || (a.domain.path < b.domain.path ? -1 : 1);
      });
    if (!next) break;
    next.part++;
  }
  const used = domains.filter(({ part }) => part > 0);
  const first = used.find(({ begins }) => begins);
  const placed: Task[] = [];
  for (const { domain, part } of first ? new Set([first, ...used]) : []) {
    const done = pack(gang, g, near, domain, level, part);
    counts.set(domain.path, (counts.get(domain.path) ?? 0) + done.length);
    placed.push(...done);
    if (done.length < part) break;
  }
  return placed;
}
