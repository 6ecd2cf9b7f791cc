// Plays a history and looks at the world on the way. Not after every step: two of five change nothing, because they mean a run
// or a job that there is not, and of the others every fourth is looked at, another one in each history, and the last. Each look
// costs as much as all steps, and another history finds more than another look at nearly the same world: an event that
// was not noticed on purpose was found by half as many looks again as cases, at a third of the cost.
import { loadEngine } from '../load.ts';
import { type Step, take } from './arbitrary.ts';
import { World } from './world.ts';

export type Look = (world: World) => void;

const lookEvery = 4;

export function play(steps: readonly Step[], look: Look = () => {}): World {
  const world = new World(loadEngine);
  playOn(world, steps, take, look);
  return world;
}

/** Goes on with a world. */
export function playOn<Taken extends { readonly do: string }>(
  world: World,
  steps: readonly Taken[],
  takeStep: (world: World, step: Taken) => void,
  look: Look,
): void {
  let begun = world.jobs.size + world.arrays.size > 0;
  let until = steps.length % lookEvery;
  let moved = false;
  for (const step of steps) {
    const [events, nowMs] = [world.log.length, world.nowMs];
    takeStep(world, step);
    begun ||= step.do === 'submit';
    // A cycle changes what the engine remembers, whether or not anything starts.
    if (step.do !== 'cycle' && world.log.length === events && world.nowMs === nowMs) continue;
    moved = begun;
    if (!begun || until-- > 0) continue;
    until = lookEvery - 1;
    moved = false;
    look(world);
  }
  if (moved) look(world);
}
