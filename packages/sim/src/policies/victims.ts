// Makes room for a job by stopping runs: those offered, in order, until the job fits; then those without whom it still fits go on.
import type { Stage } from '../replay/stage.ts';

/** The runs to stop, or null when stopping all that are offered is not enough. */
export function victimsFor(stage: Stage, size: number, offered: Iterable<number>): readonly number[] | null {
  const { room, trace } = stage;
  const shadow = room.shadow();
  const victims: number[] = [];
  for (const job of offered) {
    if (shadow.fits(size)) break;
    shadow.give(job, trace.size[job]!);
    victims.push(job);
  }
  if (!shadow.fits(size)) return null;
  return spared(stage, size, victims);
}

function spared(stage: Stage, size: number, victims: readonly number[]): readonly number[] {
  const { room, trace } = stage;
  let needed = victims;
  for (const candidate of victims.slice(0, -1)) {
    const without = needed.filter((job) => job !== candidate);
    const shadow = room.shadow();
    for (const job of without) shadow.give(job, trace.size[job]!);
    if (shadow.fits(size)) needed = without;
  }
  return needed;
}
