// Questions about what would be and what was: nothing is changed by them.
import type {
  JobId,
  JobSpecInput,
  PolicyInput,
  ReplayProgress,
  ReplayView,
  ScoreView,
  WhatIfView,
} from '@muster/model';
import { MusterError } from './errors.ts';
import { stream } from './stream.ts';
import type { Transport } from './transport.ts';

interface Call {
  readonly signal?: AbortSignal | undefined;
}

type Amounts = Readonly<Record<string, string | number>>;

/** Exactly one of them. */
export type WhatIfInput =
  | { readonly submit: unknown; readonly count?: number }
  | { readonly drain: readonly string[] }
  | { readonly lose: readonly string[] }
  | { readonly loseCluster: string }
  | { readonly addNodes: { readonly like: string; readonly count: number } }
  | { readonly policy: PolicyInput | unknown }
  | {
      readonly quota: {
        readonly project: string;
        readonly guaranteed?: Amounts;
        readonly ceiling?: Amounts;
        readonly userCeiling?: Amounts;
        readonly weight?: number;
      };
    };

export interface ReplayInput {
  readonly from?: number | undefined;
  readonly sinceMs?: number | undefined;
  readonly to?: number | undefined;
  readonly policy?: unknown;
  readonly policyVersion?: number | undefined;
  readonly count?: boolean | undefined;
  readonly limit?: number | undefined;
}

export function questionsApi(transport: Transport) {
  return {
    /** What would change in what is decided next. */
    whatIf: (asked: WhatIfInput, call: Call = {}): Promise<WhatIfView> =>
      transport.json({
        method: 'POST',
        path: '/v1/whatif',
        body: asked,
        repeatable: true,
        timeoutMs: 120_000,
        ...call,
      }),
    /** Where the tasks of a job could go, and what each place costs: of one that was submitted, or of a spec. */
    score: (asked: { readonly job: JobId } | { readonly spec: JobSpecInput }): Promise<ScoreView> =>
      'job' in asked
        ? transport.json({ path: `/v1/jobs/${encodeURIComponent(asked.job)}/score` })
        : transport.json({ method: 'POST', path: '/v1/score', body: asked.spec, repeatable: true }),
    /** Makes logged decisions again, and compares. */
    async replay(
      asked: ReplayInput,
      progress: (progress: ReplayProgress) => void = () => {},
      { signal }: Call = {},
    ): Promise<ReplayView> {
      const resumable = {
        request: () => ({ method: 'POST' as const, path: '/v1/replay', body: asked }),
        isLast: ({ event }: { readonly event: string }) => event === 'report',
      };
      // A second try would start from the beginning, on a server that may still be at the first.
      for await (const { event, data } of stream(transport, resumable, { signal, tries: 1 })) {
        if (event === 'progress') progress(JSON.parse(data) as ReplayProgress);
        if (event === 'report') return JSON.parse(data) as ReplayView;
      }
      throw new MusterError('no-answer', 'the replay was cut off');
    },
  };
}
