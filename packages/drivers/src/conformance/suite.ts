// The conformance suite: what every driver must do, whatever it drives. A driver's own test calls `driverConformance` with a
// way to make a subject on the real thing (a real agent, a real Slurm, a real API server).
import {
  type HaltSeen,
  type NodeId,
  type Observation,
  type RunId,
  runId,
  type StartCommand,
  type StopCommand,
} from '@muster/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Driver } from '../contract.ts';

export interface Subject {
  readonly driver: Driver;
  readonly node: NodeId;
  /** Everything observed so far, oldest first. */
  observed(): readonly (Observation | HaltSeen)[];
  /** A run that is not allowed to live is stopped by the cluster itself; every run is until this says otherwise. */
  forbid(run: RunId): void;
  close(): Promise<void>;
}

let nextRun = 0;

/** A fresh key, as a plan would name it. */
function freshRun(): RunId {
  const body = String(++nextRun).padStart(18, '0');
  return runId(`job_${body}` as Parameters<typeof runId>[0], 1);
}

function shell(run: RunId, script: string, more: Partial<StartCommand> = {}): StartCommand {
  const task = {
    rank: 0,
    command: ['sh', '-c', script],
    env: {},
    workdir: null,
    devices: [],
    cpuMilli: 100,
    memoryMib: 64,
  };
  const limits = { timeLimitMs: null, stopAfterMs: 60_000, outputLimitMib: 1, image: null, nodes: 1 };
  const stop = { signal: 'TERM', graceMs: 500 } as const;
  return { run, job: 'job', project: 'default', user: 'test', stop, ...limits, tasks: [task], ...more };
}

/** Says when it was asked, and ends only by the stop itself. */
const asking =
  'exec 2> /dev/null; trap "echo asked" USR1; trap "echo stopped; exit 0" TERM; echo ready; while :; do sleep 0.1; done';

const stopOf = (run: RunId, graceMs = 500): StopCommand => ({
  run,
  reason: 'test',
  class: 'cancelled',
  signal: 'TERM',
  graceMs,
});

async function until<T>(
  what: string,
  withinMs: number,
  look: () => T | null | undefined | false,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const seen = look();
    if (seen) return seen;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export interface ConformanceOptions {
  /** Whether a run lives only as long as its node's lease is renewed; what no supervisor keeps cannot be forbidden to live. */
  readonly leased?: boolean;
  /** Whether a program can be asked to save its work. */
  readonly asks?: boolean;
  /** How long the cluster may take to start or to end something. */
  readonly withinMs?: number;
}

export function driverConformance(
  name: string,
  makeSubject: () => Promise<Subject>,
  { leased = true, asks = true, withinMs = 15_000 }: ConformanceOptions = {},
): void {
  describe(`${name} driver`, () => {
    let subject: Subject;
    let outbox = 0;
    beforeAll(async () => {
      subject = await makeSubject();
    });
    afterAll(() => subject.close());

    const target = (epoch = 10) => ({ outbox: ++outbox, epoch, node: subject.node });
    const news = (run: RunId, kind: Observation['kind']): (Observation | HaltSeen)[] =>
      subject.observed().filter((item) => item.run === run && item.kind === kind);
    const ended = (run: RunId) =>
      until(`${run} ends`, withinMs, () => {
        const item = news(run, 'ended')[0];
        return item?.kind === 'ended' ? item.exit : null;
      });
    const started = (run: RunId) => until(`${run} starts`, withinMs, () => news(run, 'started').length > 0);

    const saysAll = async (run: RunId, text: string): Promise<void> => {
      const deadline = performance.now() + withinMs;
      for (;;) {
        const whole = { node: subject.node, run, rank: 0, offset: 0, maxBytes: 1000, waitMs: 0 };
        const said = await subject.driver.output(whole).then(({ data }) => Buffer.from(data).toString());
        if (said === text) return;
        if (performance.now() > deadline)
          throw new Error(`${run} said ${JSON.stringify(said)}, not ${JSON.stringify(text)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };

    it('starts a run, sees it start and end, and has its output', async () => {
      const run = freshRun();
      expect(await subject.driver.submit(target(), shell(run, 'echo hello'))).toEqual({
        outcome: 'accepted',
      });
      expect(await ended(run)).toEqual({ ok: true });
      expect(news(run, 'started')).toHaveLength(1);
      const output = await subject.driver.output({
        node: subject.node,
        run,
        rank: 0,
        offset: 0,
        maxBytes: 100,
        waitMs: 1000,
      });
      expect(Buffer.from(output.data).toString()).toBe('hello\n');
      expect(output).toMatchObject({ offset: 0, size: 6, end: true });
    });

    it('starts a key once, however often it is sent', async () => {
      const run = freshRun();
      const command = shell(run, 'echo once; sleep 0.2');
      for (let i = 0; i < 3; i++)
        expect((await subject.driver.submit(target(), command)).outcome).toBe('accepted');
      await ended(run);
      expect((await subject.driver.submit(target(), command)).outcome).toBe('accepted');
      const output = await subject.driver.output({
        node: subject.node,
        run,
        rank: 0,
        offset: 0,
        maxBytes: 100,
        waitMs: 0,
      });
      expect(Buffer.from(output.data).toString()).toBe('once\n');
      expect(news(run, 'started')).toHaveLength(1);
    });

    it('tells the exit code and the class of a failure', async () => {
      const run = freshRun();
      await subject.driver.submit(target(), shell(run, 'exit 3'));
      expect(await ended(run)).toMatchObject({ ok: false, class: 'user', code: 3 });
    });

    it('stops a run with its signal, then by force', async () => {
      const polite = freshRun();
      const stubborn = freshRun();
      await subject.driver.submit(
        target(),
        shell(polite, 'trap "exit 0" TERM; while :; do sleep 0.05; done'),
      );
      await subject.driver.submit(target(), shell(stubborn, 'trap "" TERM; while :; do sleep 0.05; done'));
      await started(polite);
      await started(stubborn);
      for (const run of [polite, stubborn])
        expect((await subject.driver.stop(target(), stopOf(run))).outcome).toBe('accepted');
      // Told to end, it did not do what it was started for, however well it took that.
      expect(await ended(polite)).toMatchObject({ ok: false, class: 'cancelled' });
      expect(await ended(stubborn)).toMatchObject({ ok: false, class: 'cancelled' });
    });

    if (asks)
      it('asks a program to save its work before it stops it, and waits no longer than it is told', async () => {
        const waited = freshRun();
        const saved = freshRun();
        const ask = { signal: 'USR1', waitMs: 1000 } as const;
        for (const run of [waited, saved]) {
          const more = { askSignal: ask.signal, stop: { signal: 'TERM', graceMs: 10_000 } } as const;
          await subject.driver.submit(target(), shell(run, asking, more));
          await saysAll(run, 'ready\n');
        }
        const stop = (run: RunId): StopCommand => ({ ...stopOf(run, 10_000), class: 'preemption' });
        await subject.driver.stop(target(), { ...stop(waited), ask });
        await subject.driver.stop(target(), { ...stop(saved), ask: { ...ask, waitMs: 3_600_000 } });
        await saysAll(saved, 'ready\nasked\n');
        // The same again changes nothing; without the asking it says that the work is saved.
        await subject.driver.stop(target(), { ...stop(saved), ask: { ...ask, waitMs: 3_600_000 } });
        await subject.driver.stop(target(), stop(saved));
        for (const run of [waited, saved]) {
          expect(await ended(run)).toMatchObject({ ok: false, class: 'preemption' });
          await saysAll(run, 'ready\nasked\nstopped\n');
        }
      });

    it('accepts a stop of what it does not know', async () => {
      expect((await subject.driver.stop(target(), stopOf(freshRun()))).outcome).toBe('accepted');
    });

    if (leased)
      it('ends a run that may no longer live', async () => {
        const run = freshRun();
        await subject.driver.submit(target(), shell(run, 'sleep 60'));
        await started(run);
        subject.forbid(run);
        expect(await ended(run)).toMatchObject({ ok: false, class: 'infrastructure' });
      });

    if (leased)
      it('never starts a run that may not live', async () => {
        const run = freshRun();
        subject.forbid(run);
        await subject.driver.submit(target(), shell(run, 'echo never'));
        await ended(run);
        expect(news(run, 'started')).toHaveLength(0);
      });

    // Last: from here on the receiver has seen epoch 20.
    it('refuses a command of an old epoch', async () => {
      const run = freshRun();
      await subject.driver.stop(target(20), stopOf(freshRun()));
      expect((await subject.driver.submit(target(19), shell(run, 'echo late'))).outcome).toBe('stale-epoch');
      expect(news(run, 'started')).toHaveLength(0);
    });
  });
}
