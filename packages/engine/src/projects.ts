// The project tree: what each project uses, what it may use and what is guaranteed to it. Use is kept as runs are planned
// and end, all the way to the root; guarantees and ceilings are worked out anew when the policy or the healthy capacity
// changed. Projects come into being when somebody names them and stay; one without use and quota changes nothing.
import {
  type Amounts,
  advancePast,
  assertAmount,
  capacityOf,
  invariant,
  type NodeFacts,
  noPast,
  type PastUse,
  type Policy,
  type ProjectUsage,
  pastAt,
  type Quota,
  resolveAmount,
  tickSeconds,
} from '@muster/model';
import { compareText } from './order.ts';
import { none, ProjectAmounts } from './project-amounts.ts';
import { type Ask, ResourceKeys } from './resource-keys.ts';

export class Project {
  readonly id: number;
  readonly path: string;
  readonly parent: Project | null;
  readonly children: Project[] = [];
  quota: Quota | null = null;
  /** Its place among the children of its parent, by path; see `Projects.numberChildren`. */
  order = -1;
  /** How many children have such a number. */
  numbered = 0;
  /** What each user uses in the subtree; kept only where users have a ceiling. */
  userUse: Map<string, number[]> | null = null;
  /** Past use of its own runs, by key. */
  readonly pasts = new Map<number, PastUse>();
  readonly amounts: ProjectAmounts;

  constructor(id: number, path: string, parent: Project | null, amounts: ProjectAmounts) {
    this.id = id;
    this.path = path;
    this.parent = parent;
    this.amounts = amounts;
  }

  /** Where its row begins in every column of `amounts`. */
  get row(): number {
    return this.id * this.amounts.width;
  }

  get weightMilli(): number {
    return this.amounts.weightMilli[this.id]!;
  }

  /** Whether it or its users have ceilings. */
  get limits(): boolean {
    return this.amounts.limits[this.id] === 1;
  }

  use(key: number): number {
    return this.amounts.use[this.row + key]!;
  }

  ownUse(key: number): number {
    return this.amounts.ownUse[this.row + key]!;
  }

  ownKept(key: number): number {
    return this.amounts.ownKept[this.row + key]!;
  }

  leaving(key: number): number {
    return this.amounts.leaving[this.row + key]!;
  }

  past(key: number): number {
    return this.amounts.past[this.row + key]!;
  }

  /** `none` where there is none. */
  guaranteed(key: number): number {
    return this.amounts.guaranteed[this.row + key]!;
  }

  ceiling(key: number): number {
    return this.amounts.ceiling[this.row + key]!;
  }

  userCeiling(key: number): number {
    return this.amounts.userCeiling[this.row + key]!;
  }

  /** The guarantee as the policy says it, in today's capacity. */
  written(text: string, healthy: number): number {
    return amountOf(this.quota?.guaranteed, text, healthy);
  }
}

/** Keys that shares count and of which there is healthy capacity, and how much of each. */
export interface Counted {
  readonly keys: Int32Array;
  readonly healthy: Float64Array;
}

export class Projects {
  readonly keys: ResourceKeys;
  readonly amounts = new ProjectAmounts();
  readonly all: Project[] = [];
  readonly root: Project;
  /** Sum over nodes that are ready and not draining, by key. */
  readonly healthy: number[] = [];
  #counted: Counted | null = null;
  /** Moves when the healthy capacity or the policy changed what anybody may use. */
  stale = true;
  /** Whether any project counts what its users use. */
  #countsUsers = false;
  readonly #byPath = new Map<string, Project>();
  #halfLifeMs: number;
  #tick = -1;

  constructor(halfLifeMs: number, keys: ResourceKeys) {
    this.keys = keys;
    this.#halfLifeMs = halfLifeMs;
    keys.whenMore((count) => this.amounts.fit(count));
    this.root = this.#add('', null);
  }

  static of(policy: Policy): Projects {
    const projects = new Projects(policy.share.halfLifeMs, new ResourceKeys());
    projects.#setQuotas(policy);
    return projects;
  }

  get halfLifeMs(): number {
    return this.#halfLifeMs;
  }

  at(path: string): Project {
    const known = this.#byPath.get(path);
    if (known) return known;
    const cut = path.lastIndexOf('/');
    return this.#add(path, cut < 0 ? this.root : this.at(path.slice(0, cut)));
  }

  find(path: string): Project | null {
    return this.#byPath.get(path) ?? null;
  }

  get counted(): Counted {
    this.#counted ??= this.#count();
    return this.#counted;
  }

  #count(): Counted {
    const keys = this.keys.texts.flatMap((_, key) =>
      this.keys.shared[key] && (this.healthy[key] ?? 0) > 0 ? [key] : [],
    );
    return { keys: Int32Array.from(keys), healthy: Float64Array.from(keys, (key) => this.healthy[key]!) };
  }

  /** Gives the children of a project numbers in the order of their paths, once for as long as none is added. */
  numberChildren(project: Project): void {
    if (project.numbered === project.children.length) return;
    project.numbered = project.children.length;
    const children = project.children.toSorted((a, b) => compareText(a.path, b.path));
    for (const [i, child] of children.entries()) child.order = i;
  }

  /** A node counts while it is ready and not draining. */
  addNode(facts: NodeFacts | undefined, sign: 1 | -1): void {
    if (facts?.state !== 'ready' || facts.drain !== null) return;
    for (const [text, amount] of Object.entries(capacityOf(facts.inventory))) {
      const key = this.keys.id(text);
      this.healthy[key] = assertAmount((this.healthy[key] ?? 0) + sign * amount, 'healthy capacity');
    }
    this.#counted = null;
    this.stale = true;
  }

  /** Adds so many times to what the project and all above it use, or takes it away (below 0); a plan does so too, and undoes it. */
  take(project: Project, user: string, ask: Ask, times: number): void {
    addUse(this.amounts.ownUse, project.row, ask, times);
    this.#addUp(project, user, ask, times);
  }

  /** A claim counts as use for everybody who asks what may be used, and never becomes past use. */
  keep(project: Project, user: string, ask: Ask, sign: 1 | -1): void {
    addUse(this.amounts.ownKept, project.row, ask, sign);
    this.#addUp(project, user, ask, sign);
  }

  #addUp({ id }: Project, user: string, ask: Ask, times: number): void {
    const { use, parent, width } = this.amounts;
    for (let at = id; at >= 0; at = parent[at]!) addUse(use, at * width, ask, times);
    if (!this.#countsUsers) return;
    for (let at = id; at >= 0; at = parent[at]!) {
      const { userUse } = this.all[at]!;
      if (userUse !== null) addTo(userUse, user, ask, times);
    }
  }

  /** A run of the project is being stopped, or would be (1), or not (-1). */
  leave(project: Project, ask: Ask, sign: 1 | -1): void {
    for (let at: Project | null = project; at !== null; at = at.parent)
      addUse(this.amounts.leaving, at.row, ask, sign);
  }

  /** A run was planned or ended at this time: what stood until now becomes past. Called before `take`. */
  remember(project: Project, ask: Ask, atMs: number): void {
    for (const key of ask.keys) {
      if (!this.keys.shared[key]) continue;
      const before = project.pasts.get(key) ?? noPast;
      const past = advancePast(before, project.ownUse(key), atMs, this.#halfLifeMs);
      project.pasts.set(key, past);
      // Within the present tick the past stands still; news of another one moves it.
      if (Math.floor(past.asOfS / tickSeconds(this.#halfLifeMs)) !== this.#tick) this.#tick = -1;
    }
  }

  /** Past use as it counts at this time. It moves once a tick, so most calls do nothing; true when it did. */
  rollTo(nowMs: number): boolean {
    const tick = Math.floor(Math.floor(nowMs / 1000) / tickSeconds(this.#halfLifeMs));
    if (tick === this.#tick) return false;
    this.#tick = tick;
    const { past: all, ownPast } = this.amounts;
    all.fill(0);
    ownPast.fill(0);
    for (const project of this.all) {
      for (const [key, past] of project.pasts) {
        const amount = pastAt(past, project.ownUse(key), nowMs, this.#halfLifeMs);
        ownPast[project.row + key] = amount;
        for (let at: Project | null = project; at !== null; at = at.parent) all[at.row + key]! += amount;
      }
    }
    return true;
  }

  setPolicy(policy: Policy): void {
    if (this.#halfLifeMs !== policy.share.halfLifeMs) this.#tick = -1;
    this.#halfLifeMs = policy.share.halfLifeMs;
    this.#setQuotas(policy);
  }

  /** Guarantees and ceilings as amounts; true when a ceiling is another than before. */
  settle(): boolean {
    if (!this.stale) return false;
    this.stale = false;
    let moved = false;
    const { ceiling, userCeiling, guaranteed } = this.amounts;
    for (let key = 0; key < this.keys.texts.length; key++) {
      const text = this.keys.texts[key]!;
      const healthy = this.healthy[key] ?? 0;
      for (const project of this.all) {
        const at = project.row + key;
        const most = amountOf(project.quota?.ceiling, text, healthy);
        const userMost = amountOf(project.quota?.userCeiling, text, healthy);
        moved ||= ceiling[at] !== most || userCeiling[at] !== userMost;
        ceiling[at] = most;
        userCeiling[at] = userMost;
      }
      // Children after parents, so that from the last to the first every child comes before its parent.
      for (let i = this.all.length - 1; i >= 0; i--) this.#ownGuarantee(this.all[i]!, key, text, healthy);
      guaranteed[this.root.row + key] = healthy;
      for (const project of this.all) scaleChildren(project, key);
    }
    return moved;
  }

  loadUsage(rows: readonly ProjectUsage[]): void {
    for (const { project, keys } of rows)
      for (const [text, { value, used, asOfS }] of Object.entries(keys))
        this.at(project).pasts.set(this.keys.id(text), { value, used, asOfS });
  }

  usage(): ProjectUsage[] {
    const rows: ProjectUsage[] = [];
    for (const project of this.all) {
      const { path, pasts } = project;
      if (pasts.size === 0) continue;
      const keys = [...pasts].map(
        ([key, past]) => [this.keys.texts[key]!, { ...past, use: project.ownUse(key) }] as const,
      );
      rows.push({ project: path, keys: Object.fromEntries(keys.sort(([a], [b]) => compareText(a, b))) });
    }
    return rows.sort((a, b) => compareText(a.project, b.project));
  }

  /** Users are counted only where they have a ceiling, so a new ceiling has to count those that run already. */
  countUsers(runs: Iterable<{ readonly project: Project; readonly user: string; readonly ask: Ask }>): void {
    this.#countsUsers = false;
    for (const project of this.all) {
      const counts = project.quota !== null && hasAny(project.quota.userCeiling);
      project.userUse = counts ? new Map<string, number[]>() : null;
      this.#countsUsers ||= counts;
    }
    for (const { project, user, ask } of runs)
      for (let at: Project | null = project; at !== null; at = at.parent)
        if (at.userUse !== null) addTo(at.userUse, user, ask, 1);
  }

  /** With the same numbers: parents come before their children in `all`, so that asking in that order makes them alike. */
  copy(): Projects {
    const other = new Projects(this.#halfLifeMs, this.keys.copy());
    for (const from of this.all) {
      const to = other.at(from.path);
      invariant(to.id === from.id, 'a copy numbers projects alike');
      for (const [key, past] of from.pasts) to.pasts.set(key, past);
      to.quota = from.quota;
      to.userUse = from.userUse && new Map([...from.userUse].map(([user, use]) => [user, use.slice()]));
    }
    for (const [key, amount] of this.healthy.entries()) other.healthy[key] = amount ?? 0;
    other.amounts.copyFrom(this.amounts);
    other.stale = this.stale;
    other.#tick = this.#tick;
    other.#countsUsers = this.#countsUsers;
    return other;
  }

  #add(path: string, parent: Project | null): Project {
    const project = new Project(this.all.length, path, parent, this.amounts);
    this.amounts.add(project.id, parent?.id ?? -1);
    this.all.push(project);
    this.#byPath.set(path, project);
    parent?.children.push(project);
    this.stale = true;
    return project;
  }

  #setQuotas(policy: Policy): void {
    for (const project of this.all) project.quota = null;
    for (const quota of policy.quotas) {
      this.at(quota.project).quota = quota;
      for (const amounts of [quota.guaranteed, quota.ceiling, quota.userCeiling])
        for (const text of Object.keys(amounts)) this.keys.id(text);
    }
    for (const project of this.all) {
      const { quota, id } = project;
      const limits = quota !== null && (hasAny(quota.ceiling) || hasAny(quota.userCeiling));
      this.amounts.weightMilli[id] = quota?.weightMilli ?? 1000;
      this.amounts.limits[id] = limits ? 1 : 0;
    }
    this.stale = true;
  }

  /** What is written, cut to the ceiling; a project that says nothing has what its children have together. */
  #ownGuarantee(project: Project, key: number, text: string, healthy: number): void {
    const written = project.written(text, healthy);
    const ceiling = project.ceiling(key);
    let amount = written;
    if (written === none)
      for (const child of project.children)
        if (child.guaranteed(key) !== none) amount = Math.max(0, amount) + child.guaranteed(key);
    const cut = amount !== none && ceiling !== none ? Math.min(amount, ceiling) : amount;
    this.amounts.guaranteed[project.row + key] = cut;
  }
}

/** Whether it is the other project, or below it. */
export function isWithin(project: Project, above: Project): boolean {
  for (let at: Project | null = project; at !== null; at = at.parent) if (at === above) return true;
  return false;
}

/** Where the guarantees of siblings add up to more than their parent's, all are scaled down in proportion. */
function scaleChildren(project: Project, key: number): void {
  const { children, amounts } = project;
  let sum = 0;
  for (const child of children) if (child.guaranteed(key) !== none) sum += child.guaranteed(key);
  const limit = Math.max(0, project.guaranteed(key));
  if (sum <= limit) return;
  for (const child of children) {
    const amount = child.guaranteed(key);
    if (amount === none) continue;
    amounts.guaranteed[child.row + key] = Number((BigInt(amount) * BigInt(limit)) / BigInt(sum));
  }
}

function amountOf(amounts: Amounts | undefined, text: string, healthy: number): number {
  const amount = amounts?.[text];
  return amount === undefined ? none : resolveAmount(amount, healthy);
}

function hasAny(amounts: Amounts): boolean {
  for (const _ in amounts) return true;
  return false;
}

function addUse(use: Float64Array, row: number, { keys, amounts }: Ask, times: number): void {
  for (let i = 0; i < keys.length; i++) use[row + keys[i]!]! += times * amounts[i]!;
}

function addTo(userUse: Map<string, number[]>, user: string, { keys, amounts }: Ask, times: number): void {
  let use = userUse.get(user);
  if (!use) {
    use = [];
    userUse.set(user, use);
  }
  for (let i = 0; i < keys.length; i++) use[keys[i]!] = (use[keys[i]!] ?? 0) + times * amounts[i]!;
}
