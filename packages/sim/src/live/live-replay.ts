// Plays what a live system has been asked to do once more: its own engine, on its own nodes or others, under its own policy or another.
import type { NodeFacts, Policy } from '@muster/model';
import type { Durations } from '../policies/beliefs.ts';
import { muster } from '../policies/muster/muster.ts';
import { type Fleet, fleetOf } from '../replay/fleet.ts';
import { type Played, type ReplayOptions, replay } from '../replay/replay.ts';
import type { LiveTrace } from './live-trace.ts';

export interface LiveSetting {
  readonly nodes: readonly NodeFacts[];
  readonly policy: Policy;
  readonly durations?: Durations;
}

/** The nodes are given, so of the fleet only counts that it has devices that are not merely counted. */
const nodesGiven: Fleet = fleetOf(0, 8);

export function liveReplay(
  { trace, facts, originMs }: LiveTrace,
  { nodes, policy, durations = 'asked' }: LiveSetting,
  options: ReplayOptions = {},
): Played {
  const real = { nodes, facts, originMs };
  const played = muster({ name: 'muster', about: '', policy, durations, real });
  return replay(trace, nodesGiven, played, options);
}
