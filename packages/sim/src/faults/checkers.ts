// The checkers, looking at every event of the log, at every process that starts anywhere, and at every answer that a server or
// a client gets. The first thing that must not be ends the seed. Rules by number: ARCHITECTURE.md, invariants.
import type { JobId, LogEvent, RunId } from '@muster/model';
import { parseRunId } from '@muster/model';
import type { Store } from '@muster/store';
import type { GroundWatch, LiveTask } from '../world/ground.ts';
import { Ceilings } from './ceilings.ts';
import { JobLog, must, Violation } from './job-log.ts';
import { SoldRoom } from './sold-room.ts';

export class Checkers {
  readonly log = new JobLog();
  readonly events: LogEvent[] = [];
  readonly #epochs: { readonly sequence: number; readonly epoch: number }[] = [];
  readonly #room = new SoldRoom();
  readonly #ceilings = new Ceilings();
  readonly #started = new Set<string>();
  readonly #live: () => ReadonlySet<LiveTask>;
  #violation: Violation | null = null;

  constructor(live: () => ReadonlySet<LiveTask>) {
    this.#live = live;
  }

  /** Those found where nobody could be told of them. */
  get violation(): Violation | null {
    return this.#violation;
  }

  read(event: LogEvent): void {
    const { body, sequence } = event;
    const last = this.events.at(-1)?.sequence ?? 0;
    must(sequence === last + 1, 'log', () => `event ${sequence} after ${last}`);
    this.events.push(event);
    this.log.read(body);
    this.#room.read(body);
    switch (body.kind) {
      case 'leader.changed': {
        const before = this.#epochs.at(-1)?.epoch ?? 0;
        must(body.epoch > before, 'S6', () => `epoch ${body.epoch} after ${before}`);
        this.#epochs.push({ sequence, epoch: body.epoch });
        return;
      }
      case 'policy.changed':
        this.#ceilings.policy = body.policy;
        return;
      case 'run.planned': {
        must(
          body.epoch === this.#epochs.at(-1)?.epoch,
          'S6',
          () => `${body.run} was planned by epoch ${body.epoch}`,
        );
        this.#ceilings.planned(body.job, body.run, { project: this.#projectOf(body.job), uses: body.uses });
        return;
      }
      case 'job.claimed':
        this.#ceilings.claimed(body.job, this.#projectOf(body.job), body.claim);
        return;
      case 'job.unclaimed':
      case 'job.held':
      case 'job.ended':
        this.#ceilings.unclaimed(body.job);
        return;
      case 'run.running':
        this.#allStarted(body.run);
        return;
      case 'run.ended': {
        for (const task of this.log.runs.get(body.run)?.tasks ?? []) this.#room.giveBack(task);
        this.#ceilings.ended(body.run);
        return;
      }
      default:
    }
  }

  #projectOf(job: JobId): string {
    return this.log.jobs.get(job)?.project ?? '';
  }

  /** S2: a run that is told to run has every one of its processes started. */
  #allStarted(id: RunId): void {
    for (const { rank } of this.log.runs.get(id)?.tasks ?? [])
      must(
        this.#started.has(`${id}/${rank}`),
        'S2',
        () => `${id} is said to run, and rank ${rank} never started`,
      );
  }

  readonly ground: GroundWatch = {
    started: (task) => this.#keep(() => this.#processStarted(task)),
    ended: () => {},
  };

  /** S3: a key starts once, and never while another attempt of its job runs where we can fence. */
  #processStarted(task: LiveTask): void {
    const key = `${task.run}/${task.rank}`;
    must(!this.#started.has(key), 'S3', () => `${key} starts a second time, on ${task.node}`);
    this.#started.add(key);
    must(this.log.runs.has(task.run), 'S3', () => `${key} starts, which nobody planned`);
    this.overlap();
  }

  overlap(): void {
    const attempts = new Map<JobId, LiveTask>();
    for (const task of this.#live()) {
      if (!task.fenced || !task.executes()) continue;
      const { job } = parseRunId(task.run) as { job: JobId };
      const other = attempts.get(job);
      must(
        other === undefined || other.run === task.run,
        'S3',
        () => `${task.run} on ${task.node} and ${other?.run} on ${other?.node} run at once`,
      );
      attempts.set(job, task);
    }
  }

  /** S4: what a client was told is so. */
  acknowledged(job: JobId): void {
    this.#keep(() =>
      must(this.log.jobs.has(job), 'S4', () => `${job} was acknowledged and is not in the log`),
    );
  }

  /** S6: what a server was told that it decided, it decided with the epoch of that moment. */
  watched(store: Store): Store {
    const decided = async <T extends { readonly outcome: string; readonly sequence?: number }>(
      what: string,
      epoch: number,
      answer: Promise<T>,
    ): Promise<T> => {
      const settled = await answer;
      if (settled.outcome === 'committed')
        this.#keep(() => this.#mayDecide(what, epoch, settled.sequence ?? 0));
      return settled;
    };
    return {
      ...store,
      commitPlan: (epoch, plan, trace) => decided('plan', epoch, store.commitPlan(epoch, plan, trace)),
      expire: (epoch, items) => decided('expiry', epoch, store.expire(epoch, items)),
      silenceOverdue: (epoch) => decided('silence', epoch, store.silenceOverdue(epoch)),
      freeze: (epoch, freeze) => decided('freeze', epoch, store.freeze(epoch, freeze)),
      failOver: (epoch, cluster) => decided('failover', epoch, store.failOver(epoch, cluster)),
      noteCluster: (epoch, cluster, sign) => decided('note', epoch, store.noteCluster(epoch, cluster, sign)),
      silenceOver: (epoch, cluster) => decided('thaw', epoch, store.silenceOver(epoch, cluster)),
    };
  }

  #mayDecide(what: string, epoch: number, sequence: number): void {
    const inForce = this.#epochs.findLast((one) => one.sequence <= sequence)?.epoch ?? 0;
    must(
      epoch === inForce,
      'S6',
      () => `a ${what} of epoch ${epoch} was taken at ${sequence}, when the epoch was ${inForce}`,
    );
  }

  #keep(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#violation ??= error;
    }
  }
}
