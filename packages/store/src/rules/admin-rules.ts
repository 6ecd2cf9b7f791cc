// What an operator may do to a node.
import { type Drain, type EventBody, strikesNow } from '@muster/model';
import type { EnrolRefusal } from '../contract.ts';
import type { NodeRecord } from './records.ts';

/**
 * An agent that is new to a node knows nothing of its runs, and its hello would end them: while the old agent's supervisor, or
 * another machine of the same name, still has them. They end by their lease or by an operator's word first.
 */
export function enrolRefusal(
  node: { readonly cluster: string; readonly runs: number },
  cluster: string,
): EnrolRefusal | null {
  if (node.cluster !== cluster) return 'name-in-use';
  return node.runs > 0 ? 'has-work' : null;
}

/** Null ends a drain; `same` when there is none to end and nothing to forget. */
export function drainAfter(
  node: NodeRecord,
  wish: Pick<Drain, 'by' | 'reason'> | null,
  nowMs: number,
): Drain | null | 'same' {
  if (wish === null && node.drain === null && strikesNow(node.strikes, nowMs) === null) return 'same';
  return wish && { ...wish, sinceMs: nowMs, ...quarantineOf(node.drain) };
}

/** An operator's drain of a quarantined node ends no quarantine: only letting work onto it again does. */
function quarantineOf(before: Drain | null): Pick<Drain, 'quarantine'> {
  return before?.quarantine ? { quarantine: true } : {};
}

export function drainedEvent({ id, name }: NodeRecord, drain: Drain | null, by: string): EventBody {
  return drain
    ? { kind: 'node.drained', node: id, name, drain }
    : { kind: 'node.undrained', node: id, name, by };
}
