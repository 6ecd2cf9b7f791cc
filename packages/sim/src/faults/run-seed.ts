// One seed: a safety phase in which things go wrong and the checkers look after every step, then everything is healed and the
// world must come to rest: every job ended or held, the outbox empty, nothing unknown, nothing left on any machine.
import { createHash } from 'node:crypto';
import { type Engine, loadEngine } from '@muster/engine';
import { type EventBody, fencedCode, type JobId } from '@muster/model';
import { seeded } from '../random.ts';
import type { MakeBackend } from '../world/backend.ts';
import { beginMs } from '../world/scheduler.ts';
import { VirtualWorld } from '../world/world.ts';
import { Checkers } from './checkers.ts';
import { Clients } from './clients.ts';
import { drawFaults, schedule, troubleController } from './faults.ts';
import { must, Violation } from './job-log.ts';
import { Operators } from './operator.ts';
import { drawWear, wearOut } from './wear.ts';
import { drawBatch, drawDrift, drawFleet, drawPolicy, drawSubmit, onSystem, projects } from './workload.ts';

export interface SeedOptions {
  readonly backend?: MakeBackend;
  /** Small worlds, for a real database. */
  readonly small?: boolean;
}

export interface SeedReport {
  readonly seed: number;
  /** Null when all went well. */
  readonly failure: { readonly rule: string; readonly message: string } | null;
  /** SHA-256 of the event log. */
  readonly hash: string;
  readonly events: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly faults: readonly string[];
  /** Runs of a lost cluster that started elsewhere without proof, and how often an older attempt was refused what it wrote. */
  readonly failovers: number;
  readonly refused: number;
  /** The last events and notes, for a failure. */
  readonly tail: readonly string[];
}

const safetyMs = 300_000;
const smallSafetyMs = 90_000;
/** Longer than a frozen cluster, the longest stopAfter and every retry together. */
const healedMs = 2_400_000;
const lookEverySteps = 400;
const compareEverySteps = 2000;
/** Ten times what the longest worlds take: one that needs more is running on the spot. */
const stepsMax = 1_000_000;

export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedReport> {
  const random = seeded(seed).split('scenario');
  const checkers: Checkers = new Checkers(() => world.ground.live);
  const fleet = drawFleet(random);
  const batch = drawBatch(seeded(seed).split('batch'));
  const world: VirtualWorld = await VirtualWorld.make({
    seed,
    // Where one is alone, nobody else ever leads.
    servers: Math.max(options.small ? 2 : 1, 1 + random.below(3)),
    fleet: options.small ? fleet.slice(0, 3) : fleet,
    ...(batch && { batch }),
    projects,
    policy: drawPolicy(random),
    drift: drawDrift(seeded(seed).split('drift')),
    watched: (_, store) => checkers.watched(store),
    ...(options.backend && { backend: options.backend }),
  });
  const run = new SeedRun(world, checkers, seeded(seed).split('script'), options.small === true);
  // A bug that nobody awaits, as in the hub: in production it ends the process.
  const onBug = (error: unknown): void => {
    world.bug ??= error;
  };
  process.on('unhandledRejection', onBug);
  try {
    const failure = await run.whole();
    return { seed, failure, ...run.summary() };
  } finally {
    process.off('unhandledRejection', onBug);
    await world.backend.close();
  }
}

class SeedRun {
  readonly #world: VirtualWorld;
  readonly #checkers: Checkers;
  readonly #random;
  readonly #small: boolean;
  readonly #clients: Clients;
  readonly #operators: Operators;
  readonly #notes: string[] = [];
  readonly #faults: string[] = [];
  #follower: Engine | null = null;
  #steps = 0;

  constructor(world: VirtualWorld, checkers: Checkers, random: ReturnType<typeof seeded>, small: boolean) {
    this.#world = world;
    this.#checkers = checkers;
    this.#random = random;
    this.#small = small;
    world.ground.watch = checkers.ground;
    this.#clients = new Clients(world, random.split('clients'), (job) => checkers.acknowledged(job));
    this.#operators = new Operators(world, this.#clients, (line) => this.#note(line));
  }

  async whole(): Promise<SeedReport['failure']> {
    try {
      await this.#news();
      const heal = this.#script();
      await this.#until(beginMs + (this.#small ? smallSafetyMs : safetyMs), async () => false);
      await this.#compare();
      this.#note('healed');
      heal();
      this.#operators.letWorkIn();
      const untilMs = this.#world.nowMs + healedMs;
      const rested = await this.#until(untilMs, () => this.#rests());
      must(rested, 'liveness', () => this.#restless);
      await this.#compare();
      return null;
    } catch (error) {
      if (error instanceof Violation) return { rule: error.rule, message: error.message };
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { rule: 'bug', message: text };
    }
  }

  /** Everything that will happen, drawn now; answers how all of it is healed. */
  #script(): () => void {
    const { scheduler, servers, machines } = this.#world;
    const untilMs = this.#small ? smallSafetyMs : safetyMs;
    for (const server of servers) server.boot();
    for (const machine of machines) scheduler.after(this.#random.below(2000), () => machine.startAgent());
    this.#scriptJobs(untilMs);
    this.#operators.script(this.#random.split('operator'), untilMs);
    const wear = drawWear(this.#random.split('wear'));
    if (wear) wearOut(this.#world, this.#random.split('failures'), wear, untilMs);
    if (wear) this.#faults.push(`machines fail every ${wear.everyMs} ms`);
    const planned = drawFaults(this.#random.split('faults'), untilMs, this.#small);
    for (const { kind } of planned) this.#faults.push(kind);
    const healController = troubleController(this.#world, this.#random.split('controller'), untilMs);
    const heal = schedule(this.#world, this.#random.split('targets'), planned, (line) => this.#note(line));
    return () => {
      heal();
      healController();
    };
  }

  #scriptJobs(untilMs: number): void {
    const random = this.#random.split('jobs');
    const systems = this.#random.split('systems');
    const count = this.#small ? 6 + random.below(8) : 10 + random.below(30);
    for (let i = 0; i < count; i++) {
      const drawn = drawSubmit(this.#world, random, i);
      const { batch } = this.#world;
      const item = batch ? onSystem(this.#world, drawn, batch.cluster.deps.kind, systems) : drawn;
      const atMs = random.below(untilMs * 0.8);
      this.#world.scheduler.after(atMs, () => this.#clients.submit(item));
      const then = random.below(10);
      const laterMs = atMs + random.below(60_000);
      if (then === 0) this.#later(laterMs, item.id, () => this.#clients.cancel(item.id));
      if (then === 1)
        this.#later(laterMs, item.id, () => this.#clients.ask((store) => store.hold(item.id, 'ada')));
      if (then === 1 || item.held)
        this.#later(laterMs + 30_000, item.id, () =>
          this.#clients.ask((store) => store.release(item.id, 'ada')),
        );
    }
  }

  /** Only of a job that was acknowledged. */
  #later(atMs: number, job: JobId, act: () => void): void {
    this.#world.scheduler.after(atMs, () => {
      if (this.#clients.promises.submitted.has(job)) act();
    });
  }

  /** Steps until it is so, or until the time; the checkers look after each. */
  async #until(untilMs: number, isSo: () => Promise<boolean>): Promise<boolean> {
    for (;;) {
      const more = await this.#world.scheduler.step(untilMs);
      await this.#news();
      const { bug } = this.#world;
      if (bug) throw bug;
      if (this.#checkers.violation) throw this.#checkers.violation;
      this.#steps++;
      must(this.#steps < stepsMax, 'liveness', () => `no rest after ${stepsMax} steps`);
      if (this.#steps % lookEverySteps === 0) {
        this.#checkers.overlap();
        if (this.#steps % compareEverySteps === 0) await this.#compare();
        if (await isSo()) return true;
      }
      if (!more) return isSo();
    }
  }

  async #news(): Promise<void> {
    for (const event of await this.#world.backend.news()) {
      this.#checkers.read(event);
      this.#follower?.apply(event);
    }
  }

  /** An engine that was fed the log equals one that is loaded from the rows. */
  async #compare(): Promise<void> {
    const rows = await this.#world.backend.direct.loadEngine();
    const rebuilt = loadEngine(rows);
    if (this.#follower === null) {
      this.#follower = rebuilt;
      return;
    }
    must(
      rows.sequence === this.#follower.sequence,
      'log',
      () => `rows stand at ${rows.sequence}, the log at ${this.#follower?.sequence}`,
    );
    must(
      rebuilt.stateHash() === this.#follower.stateHash(),
      'C5',
      () => `rows and log tell different stories at ${rows.sequence}`,
    );
  }

  #restless = 'nothing was looked at';

  async #rests(): Promise<boolean> {
    this.#restless = (await this.#unrest()) ?? '';
    return this.#restless === '';
  }

  async #unrest(): Promise<string | null> {
    const { direct } = this.#world.backend;
    if (this.#clients.open > 0) return `${this.#clients.open} requests are not answered`;
    const rows = await direct.loadEngine();
    // What a verdict says of a job that came after its entry was told is the engine's to answer, as it is for the API.
    const engine = loadEngine(rows);
    const nowMs = await direct.nowMs();
    for (const id of this.#clients.promises.submitted) {
      const job = await direct.job(id);
      if (!job) return `${id} was acknowledged and is gone`;
      if (this.#clients.promises.cancelled.has(id) && job.state.state !== 'ended')
        return `${id} was cancelled and is ${job.state.state}`;
      if (job.state.state === 'ended' || job.state.state === 'held') continue;
      const verdict = job.state.state === 'queued' ? engine.verdict(id, nowMs) : null;
      if (verdict?.kind !== 'impossible')
        return `${id} is ${job.state.state}, and its verdict is ${JSON.stringify(verdict)}`;
    }
    const { outboxOpen, devicesUsed } = await direct.counts();
    if (outboxOpen > 0) return `${outboxOpen} rows of the outbox are open`;
    if (rows.runs.length > 0) return `${rows.runs[0]?.run} lives on`;
    if (devicesUsed > 0) return `${devicesUsed} devices are held by nobody`;
    for (const machine of this.#world.machines)
      if (machine.holds > 0) return `${machine.deps.name} holds ${machine.holds} tasks`;
    const left = this.#world.batch?.cluster.holds ?? 0;
    return left > 0 ? `${left} jobs are left on the batch system` : null;
  }

  #note(line: string): void {
    this.#notes.push(`${((this.#world.nowMs - beginMs) / 1000).toFixed(3)} ${line}`);
  }

  summary(): Omit<SeedReport, 'seed' | 'failure'> {
    const hash = createHash('sha256');
    for (const event of this.#checkers.events) hash.update(`${JSON.stringify(event)}\n`);
    const last = this.#checkers.events.slice(-25).map((event) => {
      const { kind, ...body } = event.body;
      return `${((event.atMs - beginMs) / 1000).toFixed(3)} #${event.sequence} ${kind} ${JSON.stringify(body).slice(0, 160)}`;
    });
    return {
      hash: hash.digest('hex'),
      events: this.#checkers.events.length,
      steps: this.#steps,
      virtualMs: this.#world.nowMs - beginMs,
      faults: this.#faults,
      failovers: this.#checkers.events.filter(({ body }) => isFailover(body)).length,
      refused: this.#world.programs.refused,
      tail: [...this.#notes.slice(-20), ...this.#world.logged.slice(-15), ...last],
    };
  }
}

function isFailover(body: EventBody): boolean {
  return (
    body.kind === 'run.ended' && body.result.outcome === 'failed' && body.result.reason.code === fencedCode
  );
}
