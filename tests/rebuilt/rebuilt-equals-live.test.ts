// Rebuilt = live: an engine fed event by event and one loaded from the rows are the same, by state hash, at random points of a
// random history on a real database. So a new leader decides what the old one would have, and every logged decision can be
// made again from a snapshot.
import { catchUp, cycle, Life, replay } from '@muster/control';
import { type Engine, encodeRows, loadEngine } from '@muster/engine';
import {
  defaultPolicy,
  halfLifeMsMin,
  type JobId,
  memberId,
  type Observation,
  plainQuota,
  type ReplayReport,
  type ReplayRequest,
  strikeRule,
} from '@muster/model';
import { openStore, type Store } from '@muster/store';
import {
  anInventory,
  aSpec,
  aSubmit,
  failed,
  type JoinedNode,
  joinNode,
  lead,
  ok,
  onEveryServer,
  sayHello,
  submitted,
} from '@muster/store/testing';
import { expect, it } from 'vitest';

const projects = ['default', 'a', 'a/b'];
const steps = Number(process.env.MUSTER_CASES ?? 150);

/** Nothing is shielded, so that there are preemptions. */
const tiers = defaultPolicy.tiers.map((tier) => ({ ...tier, minRunMs: 0 }));

/** A small seeded generator (mulberry32): a failing history can be run again. */
function seeded(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** What happens to the system in one step; each leaves both engine and rows to be compared. */
class History {
  readonly store: Store;
  readonly random: () => number;
  readonly jobs: JobId[] = [];
  readonly nodes: JoinedNode[] = [];
  readonly live: { node: JoinedNode; run: Observation['run']; ranks: number[]; started: boolean }[] = [];
  readonly life = new Life();
  epoch = 0;
  lastNowMs = 0;

  constructor(store: Store, random: () => number) {
    this.store = store;
    this.random = random;
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  async submit(): Promise<void> {
    const tasks = 1 + Math.floor(this.random() * 3);
    const gpus = Math.floor(this.random() * 5);
    const priority = Math.floor(this.random() * 3);
    const retry = { user: 1, outOfMemory: 0, infrastructure: 2 };
    const tier = this.random() < 0.3 ? 'spot' : 'standard';
    const project = this.pick(projects) as string;
    const timeLimitMs = this.random() < 0.3 ? 60_000 : null;
    const deadlineMs = this.random() < 0.2 ? 2_000_000_000_000 : null;
    const exclusive = this.random() < 0.1;
    const size = { count: 1 + Math.floor(this.random() * 6), parallel: this.random() < 0.5 ? 2 : null };
    const array = this.random() < 0.3 ? size : undefined;
    const when = { timeLimitMs, deadlineMs };
    const spec = aSpec({ tier, tasks, gpus, priority, retry, exclusive, project, ...when, array });
    const principal = this.random() < 0.5 ? 'ada' : 'bob';
    const estimate = this.random() < 0.5 ? { expectedMs: 1000, p90Ms: 60_000 } : undefined;
    const submit = aSubmit({ spec, principal, held: this.random() < 0.1, estimate });
    this.jobs.push(await submitted(this.store, submit));
  }

  /** Quotas and half-lives come and go, and with them what past use is worth. */
  async changePolicy(): Promise<void> {
    const { version } = await this.store.policy();
    const halfLifeMs = this.random() < 0.5 ? halfLifeMsMin : defaultPolicy.share.halfLifeMs;
    const amount = 1000 * Math.floor(this.random() * 8);
    const quota = { ...plainQuota('a'), guaranteed: { gpu: amount }, userCeiling: { gpu: 6000 } };
    const below = { ...plainQuota('a/b'), ceiling: { cpu: { percentMilli: 20_000 } }, weightMilli: 2000 };
    const quotas = this.random() < 0.7 ? [quota, below] : [];
    const first = this.random() < 0.5 ? 'shares' : 'expected';
    const runTimes = { use: 'learned', first, stop: this.random() < 0.5 ? 'longer' : 'nobody' } as const;
    const policy = { ...defaultPolicy, tiers, quotas, share: { halfLifeMs }, runTimes };
    await this.store.setPolicy(policy, version, 'ada');
  }

  async plan(engine: Engine): Promise<void> {
    const { epoch, life, store, lastNowMs } = this;
    this.lastNowMs = (await cycle({ epoch, engine, life, store, lastNowMs })).plan.nowMs;
    for (const row of await this.store.takeOutbox(this.nodes, 100)) {
      const node = this.nodes.find((candidate) => candidate.node === row.node) as JoinedNode;
      await this.store.closeOutbox([{ id: row.id, session: row.session, outcome: 'accepted', detail: null }]);
      const ranks = row.kind === 'start' ? row.command.tasks.map((task) => task.rank) : [];
      if (row.kind === 'start') this.live.push({ node, run: row.command.run, ranks, started: false });
      else await this.end(row.command.run);
    }
  }

  /** The agent reports the end of what it was told to stop. */
  async end(run: Observation['run']): Promise<void> {
    for (const task of this.live.filter((held) => held.run === run)) await this.report(task, 'stopped');
  }

  async report(task: History['live'][number], how: 'started' | 'ok' | 'failed' | 'stopped'): Promise<void> {
    const exit = how === 'ok' ? ok : how === 'stopped' ? failed({ class: 'cancelled' }) : failed();
    const items = task.ranks.map(
      (rank): Observation =>
        how === 'started'
          ? { kind: 'started', run: task.run, rank, pid: 1 }
          : { kind: 'ended', run: task.run, rank, exit },
    );
    await this.store.observe(task.node, items);
    if (how === 'started') task.started = true;
    else this.live.splice(this.live.indexOf(task), 1);
  }

  async observe(): Promise<void> {
    const task = this.pick(this.live);
    if (!task) return;
    if (!task.started) return this.report(task, 'started');
    return this.report(task, this.random() < 0.7 ? 'ok' : 'failed');
  }

  async changeJob(): Promise<void> {
    const job = this.pick(this.jobs);
    if (!job) return;
    const how = this.pick(['cancel', 'hold', 'release', 'member', 'members'] as const) ?? 'hold';
    // Of a job that is no array both are refused.
    if (how === 'member') await this.store.cancel(memberId(job, Math.floor(this.random() * 4)), 'ada');
    else if (how === 'members') await this.store.cancelRange(job, [0, 1], 'ada');
    else await this.store[how](job, 'ada');
  }

  async changeNode(): Promise<void> {
    const at = Math.floor(this.random() * this.nodes.length);
    const node = this.nodes[at] as JoinedNode;
    const how = this.random();
    if (how < 0.2) await this.store.drain(node.node, { by: 'ada', reason: 'test' }, 'ada');
    else if (how < 0.3) await this.strikeOut(node);
    else if (how < 0.5) await this.store.drain(node.node, null, 'ada');
    else if (how < 0.6) await this.store.trust(node.node, how < 0.55 ? 800 : 1000, 'ada');
    else if (how < 0.7) await this.store.silence(node);
    else await this.reconnect(at, node);
  }

  /** Quarantined, or spared. */
  async strikeOut({ node }: JoinedNode): Promise<void> {
    const strike = { code: 'bad-message', detail: 'not JSON' } as const;
    for (let i = 0; i < strikeRule.limit; i++) await this.store.strike(node, strike, strikeRule);
  }

  /** Comes back with more or fewer devices than before, still holding what it held. */
  async reconnect(at: number, node: JoinedNode): Promise<void> {
    const held = this.live.filter((task) => task.node.node === node.node);
    const tasks = held.flatMap(({ run, ranks, started }) =>
      ranks.map((rank) => ({
        run,
        rank,
        state: started ? ('running' as const) : ('accepted' as const),
        exit: null,
      })),
    );
    const inventory =
      this.random() < 0.3 ? anInventory({ gpus: 4 + Math.floor(this.random() * 6) }) : node.inventory;
    const next = await sayHello(this.store, node.node, { name: node.name, inventory, tasks });
    this.nodes[at] = next;
    for (const task of held) task.node = next;
  }
}

const everything: ReplayRequest = {
  fromSequence: null,
  fromMs: null,
  toSequence: null,
  policy: null,
  count: false,
  limit: 10_000,
};

function replayOf(store: Store, request: Partial<ReplayRequest> = {}): Promise<ReplayReport> {
  const deps = { store, load: loadEngine, progress: () => {}, cancelled: () => false };
  return replay(deps, { ...everything, ...request });
}

/** Every logged decision is made again alike, from the beginning and from the middle, and a changed one is found. */
async function checkReplay(store: Store, snapshot: number): Promise<void> {
  const decisions = await store.decisions({ after: 0, fromSequence: snapshot, limit: 10_000 });
  const all = await replayOf(store);
  expect(all).toMatchObject({ snapshot, leadIn: 0, decisions: decisions.length, same: decisions.length });
  expect(all.divergence).toBeNull();
  expect(decisions.length).toBeGreaterThan(steps / 20);
  // Not the first of a life, which needs no other before it.
  const third = Math.floor(decisions.length / 3);
  const middle = decisions.find(({ turn }, i) => i >= third && turn > 0)!;
  const part = await replayOf(store, { fromSequence: middle.sequence, toSequence: middle.sequence });
  expect(part).toMatchObject({ divergence: null, from: middle.sequence, to: middle.sequence });
  expect(part.leadIn).toBeGreaterThan(0);
  const changed = decisions.findLast(({ units }) => units > 0)!;
  const otherStore: Store = Object.assign(Object.create(store), {
    decisions: async (query: Parameters<Store['decisions']>[0]) =>
      (await store.decisions(query)).map((row) => (row.id === changed.id ? { ...row, hash: 'other' } : row)),
  });
  const found = await replayOf(otherStore);
  expect(found.divergence).toMatchObject({ decision: changed.id, recordedHash: 'other', recorded: [] });
  expect(found.same).toBe(found.decisions - 1);
}

/** The same history under turned ranks: the first difference is found, and with `count` all of them. */
async function checkOtherPolicy(store: Store): Promise<void> {
  const { policy } = await store.policy();
  const turned = {
    ...policy,
    tiers: policy.tiers.map((tier) => ({ ...tier, rank: 1000 - tier.rank, preempts: [] })),
  };
  expect(await replayOf(store, { policy })).toMatchObject({ divergence: null });
  const counted = await replayOf(store, { policy: turned, count: true });
  const first = await replayOf(store, { policy: turned });
  expect(first.divergence).toEqual(counted.divergence);
  if (!first.divergence) return;
  expect(first.same).toBe(first.decisions - 1);
  expect([...first.divergence.recorded, ...first.divergence.replayed]).not.toEqual([]);
  expect(counted.decisions - counted.same).toBeGreaterThan(0);
}

onEveryServer((server) => {
  it.each([1, 2, 3])(
    'seed %i: an engine fed by events equals one rebuilt from rows',
    { timeout: 120_000 },
    async (seed) => {
      const store = await openStore({ url: await server().database() });
      const history = new History(store, seeded(seed));
      history.epoch = await lead(store);
      for (let i = 0; i < 4; i++) history.nodes.push(await joinNode(store, { name: `n${i}` }));
      for (const project of projects.slice(1)) await store.createProject(project, 'ada');
      const live = loadEngine(await store.loadEngine());
      const room = 10_000_000;
      const start = live.sequence;
      await store.saveSnapshot(history.epoch, start, encodeRows(await store.loadEngine()), room);
      for (let step = 0; step < steps; step++) {
        const what = history.random();
        if (what < 0.3) await history.submit();
        else if (what < 0.55) await history.plan(live);
        else if (what < 0.85) await history.observe();
        else if (what < 0.92) await history.changeJob();
        // In one history the policy stays, so that a replay under it is a replay of what was.
        else if (what < 0.95 && seed > 1) await history.changePolicy();
        else await history.changeNode();
        await catchUp(live, store);
        // Another leader, with a plan of this one refused in between.
        if (step === Math.floor(steps / 2)) {
          const epoch = await lead(store);
          await history.submit();
          await history.plan(live);
          history.epoch = epoch;
        }
        if (step % 10 === 0) {
          const rebuilt = loadEngine(await store.loadEngine());
          expect(rebuilt.sequence).toBe(live.sequence);
          expect(rebuilt.stateHash(), `after step ${step}`).toBe(live.stateHash());
          const nowMs = await store.nowMs();
          expect(rebuilt.decide(nowMs).units).toEqual(live.fork().decide(nowMs).units);
        }
      }
      await checkReplay(store, start);
      if (seed === 1) await checkOtherPolicy(store);
      await store.close();
    },
  );
});
