// Makes a logged decision again. The caller feeds events; the engine is one of its own, so that nothing but the log
// decides. See packages/model/src/decision.ts for what a life is.
import type { Decision, LogEvent, Plan } from '@muster/model';
import type { Engine } from './engine.ts';

export type ReplayInput = Pick<Decision, 'sequence' | 'nowMs' | 'turn' | 'quiet'>;

/** Asks for events by yielding the sequence it wants to be at, and is given them. */
type Fed<T> = Generator<number, T, Iterable<LogEvent>>;

export function* decideAgain(engine: Engine, { sequence, nowMs, turn, quiet }: ReplayInput): Fed<Plan> {
  yield* reach(engine, quiet[0]?.[0] ?? sequence);
  // A life begins where its first decide was made, whenever its engine was loaded: until then nothing was told.
  if (turn === 0) engine.forget();
  for (const [at, when] of quiet) {
    yield* reach(engine, at);
    engine.decide(when);
  }
  yield* reach(engine, sequence);
  return engine.decide(nowMs);
}

function* reach(engine: Engine, sequence: number): Fed<void> {
  if (engine.sequence >= sequence) return;
  for (const event of yield sequence) engine.apply(event);
}
