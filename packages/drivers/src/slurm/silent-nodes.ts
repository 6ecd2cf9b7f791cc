// Nodes that do not answer their controller. Slurm gives up the jobs of such a node after a while (NODE_FAIL), but that proves nothing
// of their processes: the node may be cut off, or only its slurmd dead. When it answers again the controller has it end what it should
// not run; a moment is left for that.
import type { SlurmNode } from './listing.ts';

const settleMs = 15_000;

export class SilentNodes {
  readonly #lastMs = new Map<string, number>();

  /** What the controller says of its nodes now. */
  see(nodes: readonly SlurmNode[], nowMs: number): void {
    for (const { name, answers } of nodes) if (!answers) this.#lastMs.set(name, nowMs);
    for (const [name, lastMs] of this.#lastMs) if (nowMs - lastMs >= settleMs) this.#lastMs.delete(name);
  }

  /** Those of which a word that something is over is not believed. */
  names(): ReadonlySet<string> {
    return new Set(this.#lastMs.keys());
  }
}
