// How many messages of agents this server refused, for its metrics: by code, and by whether the connection had proven which
// node it is. Neither nodes nor addresses are kept: whoever has not proven itself may claim to be anybody.
import { type StrikeCode, strikeCodes } from '@muster/model';

/** The strikes, and what happens to correct agents too. */
export type RefusalCode =
  | StrikeCode
  | 'unauthenticated'
  | 'protocol'
  | 'not-found'
  | 'removed'
  | 'replaced'
  | 'stale-session'
  | 'crowded';

export interface RefusedCount {
  readonly code: RefusalCode;
  readonly authenticated: boolean;
  readonly count: number;
}

export class Refusals {
  readonly #counts = new Map<string, RefusedCount>();

  constructor() {
    // From zero, so that the first one is seen as a change.
    for (const code of strikeCodes) this.#add(code, true, 0);
  }

  count(code: RefusalCode, authenticated: boolean): void {
    this.#add(code, authenticated, 1);
  }

  all(): readonly RefusedCount[] {
    return [...this.#counts.values()];
  }

  #add(code: RefusalCode, authenticated: boolean, more: number): void {
    const key = `${code} ${authenticated}`;
    this.#counts.set(key, { code, authenticated, count: (this.#counts.get(key)?.count ?? 0) + more });
  }
}
