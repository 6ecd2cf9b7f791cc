// What really runs where: the truth that the control plane can only infer. Machines tell it of every process that starts and
// ends; the checkers read it.
import type { NodeId, RunId } from '@muster/model';

export interface LiveTask {
  readonly node: NodeId;
  readonly run: RunId;
  readonly rank: number;
  /** Nothing else keeps it from harm beside another attempt; false for what only writes where an older attempt is refused. */
  readonly fenced: boolean;
  /** A process of a frozen machine does nothing. */
  readonly executes: () => boolean;
}

export interface GroundWatch {
  started(task: LiveTask): void;
  ended(task: LiveTask): void;
}

export class Ground {
  readonly #live = new Set<LiveTask>();
  watch: GroundWatch = { started: () => {}, ended: () => {} };

  get live(): ReadonlySet<LiveTask> {
    return this.#live;
  }

  started(task: LiveTask): void {
    this.#live.add(task);
    this.watch.started(task);
  }

  ended(task: LiveTask): void {
    if (this.#live.delete(task)) this.watch.ended(task);
  }
}
