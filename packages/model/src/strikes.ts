// Strikes: what a node's agent sent that a correct agent never sends. Three of them and the node is quarantined, which is a
// drain by Muster itself. Only a connection that has proven with the node's key whose it is can give the node one: else
// anybody could take a node out of work by naming it. What happens to correct agents (another connection was quicker, an
// operator removed the node, a release speaks another protocol) is refused too and is no strike.
import { clip } from './units.ts';

export const strikeCodes = [
  'bad-message', // not JSON, or a shape that the schema refuses
  'too-large', // more than the protocol allows in one message
  'bad-counter', // a repeat or a gap: a replay, or from the future
  'bad-order', // a second hello, or an answer to what was not asked
  'wrong-node', // about a task of another node
  'wrong-epoch', // of an epoch that no leader has had
] as const;

export type StrikeCode = (typeof strikeCodes)[number];

export interface Strike {
  readonly code: StrikeCode;
  /** For people; of our making, with at most a few words of the agent's. */
  readonly detail: string;
}

/** The strikes of a node that count now, and the last of them. */
export interface Strikes extends Strike {
  readonly count: number;
  readonly lastMs: number;
  /** Forgotten then, all of them, unless another one comes. */
  readonly untilMs: number;
  /** Enough of them, and not quarantined: that would have taken too much of its pool. */
  readonly spared: boolean;
}

export interface StrikeRule {
  /** So many make a quarantine. */
  readonly limit: number;
  /** So long after the last one they are forgotten. */
  readonly memoryMs: number;
  /** The most of a pool that Muster takes out of work by itself. */
  readonly sharePercent: number;
}

export const strikeRule: StrikeRule = { limit: 3, memoryMs: 86_400_000, sharePercent: 10 };

const longestDetail = 200;

export function strikesNow(strikes: Strikes | null, nowMs: number): Strikes | null {
  return strikes !== null && strikes.untilMs > nowMs ? strikes : null;
}

export function addStrike(before: Strikes | null, strike: Strike, rule: StrikeRule, nowMs: number): Strikes {
  const count = (strikesNow(before, nowMs)?.count ?? 0) + 1;
  // A few words may be the agent's own, and the database does not take every character.
  const detail = clip(strike.detail.replace(/[^\x20-\x7e]/g, '?'), longestDetail);
  return {
    count,
    code: strike.code,
    detail,
    lastMs: nowMs,
    untilMs: nowMs + rule.memoryMs,
    spared: false,
  };
}

export interface PoolCounts {
  /** Nodes that are ready or silent. */
  readonly nodes: number;
  readonly quarantined: number;
  /** Others that take work now. */
  readonly open: number;
}

/**
 * Bad messages of many nodes at once are more likely our own doing than theirs. So at most a tenth of a pool is quarantined; of
 * a small pool one node, and never the last one that takes work.
 */
export function mayQuarantine(
  { nodes, quarantined, open }: PoolCounts,
  { sharePercent }: StrikeRule,
): boolean {
  const most = Math.max(1, Math.floor((nodes * sharePercent) / 100));
  return quarantined < most && open > 0;
}
