// What an agent does now and then, beside its connection: look at its inventory again and remove what is no
// longer kept.
import type { Logger } from './options.ts';

const recheckEveryMs = 60_000;
const removeEveryMs = 600_000;

export interface Chores {
  readonly recheck: () => Promise<void>;
  readonly removeOld: () => Promise<void>;
}

/** Returns what ends it. */
export function keepHouse({ recheck, removeOld }: Chores, log: Logger): () => void {
  const doing = (what: string, chore: () => Promise<void>) => (): void => {
    chore().catch((error) => log.warn({ error: String(error) }, `${what} failed`));
  };
  const look = doing('rechecking the inventory', recheck);
  const remove = doing('removing old output', removeOld);
  const timers = [setInterval(look, recheckEveryMs), setInterval(remove, removeEveryMs)];
  for (const timer of timers) timer.unref();
  remove();
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
