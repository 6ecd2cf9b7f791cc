// What enough strikes lead to, and what is told of them.
import type { Drain, EventBody, StrikeRule, Strikes } from '@muster/model';
import type { Struck } from '../contract.ts';
import type { NodeRecord } from './records.ts';

export function quarantine({ count, code, detail, lastMs }: Strikes): Drain {
  const reason = `its agent sent ${count} bad messages; the last (${code}): ${detail}`;
  return { by: 'muster', reason, sinceMs: lastMs, quarantine: true };
}

/** A node that goes on and on fills no log: what comes after the last word is only counted. */
export function struckEvents(
  { id, name }: NodeRecord,
  { count, code, detail }: Strikes,
  outcome: Struck['outcome'],
  drain: Drain | null,
  rule: StrikeRule,
): EventBody[] {
  const events: EventBody[] = [];
  if (count <= rule.limit || drain !== null)
    events.push({ kind: 'node.struck', node: id, name, strikes: count, outcome, code, detail });
  if (drain !== null) events.push({ kind: 'node.drained', node: id, name, drain });
  return events;
}
