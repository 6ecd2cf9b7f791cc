// A node's liveness as the control plane can prove it. Whether work may be placed on a ready node is a separate wish
// (drain), so that a draining node can fall silent and come back without losing it.
import { assertNever } from './assert.ts';
import type { Reason } from './outcome.ts';
import { allows, type Stepped, type Transitions } from './transitions.ts';

export type NodeState =
  | { readonly state: 'ready'; readonly sinceMs: number }
  /** No renewal for longer than its beat allows: nothing new is placed, what runs there is unknown. */
  | { readonly state: 'silent'; readonly sinceMs: number }
  /** Every lease on it has run out, or somebody with authority said so: what ran there is over. */
  | { readonly state: 'lost'; readonly sinceMs: number; readonly reason: Reason }
  | { readonly state: 'removed'; readonly sinceMs: number };

export type NodeStateEvent =
  | { readonly kind: 'hello'; readonly nowMs: number }
  | { readonly kind: 'silence'; readonly nowMs: number }
  | { readonly kind: 'lose'; readonly reason: Reason; readonly nowMs: number }
  | { readonly kind: 'remove'; readonly nowMs: number };

export type NodeRefusal = 'not-now' | 'removed';

export const nodeTransitions: Transitions<NodeState['state'], NodeStateEvent['kind']> = {
  ready: { hello: ['ready'], silence: ['silent'], lose: ['lost'], remove: ['removed'] },
  silent: { hello: ['ready'], silence: ['silent'], lose: ['lost'], remove: ['removed'] },
  lost: { hello: ['ready'], remove: ['removed'] },
  removed: {},
};

export function stepNode(node: NodeState, event: NodeStateEvent): Stepped<NodeState, NodeRefusal> {
  if (node.state === 'removed') return { ok: false, reason: 'removed' };
  if (!allows(nodeTransitions, node.state, event.kind)) return { ok: false, reason: 'not-now' };
  switch (event.kind) {
    case 'hello':
      return { ok: true, next: node.state === 'ready' ? node : { state: 'ready', sinceMs: event.nowMs } };
    case 'silence':
      return { ok: true, next: node.state === 'silent' ? node : { state: 'silent', sinceMs: event.nowMs } };
    case 'lose':
      return { ok: true, next: { state: 'lost', sinceMs: event.nowMs, reason: event.reason } };
    case 'remove':
      return { ok: true, next: { state: 'removed', sinceMs: event.nowMs } };
    default:
      return assertNever(event);
  }
}

/** Who keeps new work off a node, and why. */
export interface Drain {
  readonly by: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** Muster did it by itself, after three strikes. Only the author differs: an operator's undrain ends it as any other. */
  readonly quarantine?: true;
  /** Its cluster did: it is drained as a whole, or takes no work there. It ends when the cluster says so. */
  readonly cluster?: true;
}
