// The present life of the engine, as the decision log tells it (packages/model/src/decision.ts). What an engine has told is a
// cache beside the rows, so a life ends, and the engine forgets, whenever the two may differ:
//   - a plan was made and its commit is refused, failed or unknown: its verdicts may never have been written;
//   - another server led in between, and told the queue something else.
// And it ends after a while and with every snapshot, because a replay can start only where a life does, behind a snapshot.
import type { Engine } from '@muster/engine';
import type { DecisionTrace, Plan, QuietDecide } from '@muster/model';

/** A replay starts at most this far before what it was asked for; forgetting costs one look at every shape. */
const lifeMs = 3_600_000;
const lifeEvents = 200_000;
/** An idle hour is 3,600 decides; the log of them is written in pieces. */
const quietMax = 1000;

export class Life {
  #number = 0;
  #turn = 0;
  #epoch = 0;
  #began: QuietDecide | null = null;
  #quiet: QuietDecide[] = [];
  #over = false;

  /** Called before every decide. */
  enter(epoch: number, engine: Engine, nowMs: number): void {
    const [sequence, sinceMs] = this.#began ?? [engine.sequence, nowMs];
    const old = engine.sequence - sequence > lifeEvents || nowMs - sinceMs > lifeMs;
    if (epoch !== this.#epoch || old || this.#over) this.end(engine);
    this.#epoch = epoch;
    this.#began ??= [engine.sequence, nowMs];
  }

  /**
   * While another server leads: decides and throws the plan away, so that questions find what was found in vain before. What it
   * told itself is forgotten when this server leads.
   */
  rehearse(engine: Engine, nowMs: number): void {
    engine.decide(nowMs);
    this.#began ??= [engine.sequence, nowMs];
  }

  /** The plan is empty. Answers whether it is to be committed all the same, for the log's sake. */
  quiet(plan: Plan): 'commit' | 'leave' {
    if (this.#quiet.length >= quietMax) return 'commit';
    this.#quiet.push([plan.sequence, plan.nowMs]);
    return 'leave';
  }

  /** What was told is in the rows once this is committed; otherwise it is told again. */
  async commit<T extends { readonly outcome: string }>(
    engine: Engine,
    write: (trace: DecisionTrace) => Promise<T>,
  ): Promise<T> {
    let known = false;
    try {
      const answer = await write({ life: this.#number, turn: this.#turn, quiet: this.#quiet });
      known = answer.outcome === 'committed';
      return answer;
    } finally {
      if (known) {
        this.#turn++;
        this.#quiet = [];
      } else this.end(engine);
    }
  }

  /** Before the next decision: now there may be one whose commit is under way. */
  endSoon(): void {
    this.#over = true;
  }

  /** The engine's next plan is that of one loaded now; one that never decided is so already. */
  end(engine: Engine): void {
    if (this.#began !== null) engine.forget();
    this.#number++;
    this.#turn = 0;
    this.#quiet = [];
    this.#began = null;
    this.#over = false;
  }
}
