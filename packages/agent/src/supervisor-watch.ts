// A supervisor that hangs enforces no deadlines. That does no harm while renewals come, and killing it would end every
// task on the node; but once a lease has run out by the agent's own count and the supervisor does not answer, it is
// killed: its tasks die with it, before another attempt may start elsewhere.
import type { RunId } from '@muster/model';
import type { Logger } from './options.ts';
import { bootClockMs } from './supervisor/clock.ts';
import { isAlive, signalPid } from './supervisor/processes.ts';
import type { Lease, SupervisorFile } from './supervisor/protocol.ts';

const askEveryMs = 1000;
/** Counted in questions, not in time: after a pause of the whole machine the first answer must not come too late. */
const unansweredMost = 3;

export interface WatchDeps {
  readonly log: Logger;
  readonly ask: () => Promise<unknown>;
  readonly process: () => Pick<SupervisorFile, 'pid' | 'startTicks'> | null;
}

export class SupervisorWatch {
  readonly #deps: WatchDeps;
  readonly #deadlines = new Map<RunId, number>();
  readonly #timer: NodeJS.Timeout;
  #unanswered = 0;
  #asked = 0;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#look(), askEveryMs);
    this.#timer.unref();
  }

  renewed(runs: readonly ({ readonly run: RunId } & Lease)[]): void {
    for (const { run, deadlineMs } of runs) {
      if (deadlineMs === null) this.#deadlines.delete(run);
      else this.#deadlines.set(run, deadlineMs);
    }
  }

  /** A supervisor that answers now; what the one before held is its business. */
  adopted(): void {
    this.#unanswered = 0;
    this.#deadlines.clear();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const supervisor = this.#deps.process();
    if (this.#deadlines.size === 0 || !supervisor) return;
    if (this.#unanswered >= unansweredMost && this.#expired()) {
      this.#deps.log.error(
        { pid: supervisor.pid },
        'the supervisor hangs and a lease has run out: killing it and its tasks',
      );
      if (isAlive(supervisor.pid, supervisor.startTicks)) signalPid(supervisor.pid, 'SIGKILL');
      return;
    }
    this.#unanswered++;
    const asked = ++this.#asked;
    void this.#deps.ask().then(() => {
      if (asked === this.#asked) this.#answered();
    });
  }

  #answered(): void {
    this.#unanswered = 0;
    // It does its own work; only leases that may still run out matter.
    const nowMs = bootClockMs();
    for (const [run, deadlineMs] of this.#deadlines) if (deadlineMs < nowMs) this.#deadlines.delete(run);
  }

  #expired(): boolean {
    const nowMs = bootClockMs();
    return [...this.#deadlines.values()].some((deadlineMs) => deadlineMs <= nowMs);
  }
}
