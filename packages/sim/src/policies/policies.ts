// The policies that can stand side by side in one report, by name. A new one is a file beside this one and a row here.
import type { Policy as MusterPolicy } from '@muster/model';
import type { Policy } from '../replay/replay.ts';
import { asked, type BeliefsMaker, type Durations, exact, lastTwo } from './beliefs.ts';
import { conservative } from './conservative.ts';
import { easy, easyShortest } from './easy.ts';
import { inOrder } from './in-order.ts';
import { las } from './las.ts';
import { learned } from './learned/learned.ts';
import { learnedPreemptive } from './learned/learned-preemptive.ts';
import { muster } from './muster/muster.ts';
import { srtf } from './srtf.ts';

export interface PolicyRow {
  readonly name: string;
  readonly about: string;
  /** It believes something of run times, and `--durations` says what. */
  readonly believes: boolean;
  readonly make: (durations: Durations) => Policy;
}

const beliefsOf: Readonly<Record<Durations, BeliefsMaker>> = { asked, exact, learned: lastTwo };

export const policyRows: readonly PolicyRow[] = [
  ...inOrder.map(fixed),
  fixed(srtf),
  believing(easy),
  believing(easyShortest),
  believing((beliefs) => conservative(beliefs)),
  fixed(las),
  fixed(learned),
  fixed(learnedPreemptive),
  musterRow('muster', "Muster's engine with its default policy"),
];

/** Muster's own policy, as it comes or as somebody wrote it. */
export function musterRow(name: string, about: string, policy?: MusterPolicy): PolicyRow {
  const make = (durations: Durations): Policy =>
    muster({ name, about, durations, ...(policy && { policy }) });
  return { name, about, believes: true, make };
}

function fixed(policy: Policy): PolicyRow {
  return { name: policy.name, about: policy.about, believes: false, make: () => policy };
}

function believing(make: (beliefs: BeliefsMaker) => Policy): PolicyRow {
  const { name, about } = make(asked);
  return { name, about, believes: true, make: (which) => make(beliefsOf[which]) };
}
