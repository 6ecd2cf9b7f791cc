// What the brain's worker thread is asked and told.
import type { JobRequest } from '@muster/engine';
import type { JobId } from '@muster/model';

export type BrainAsked =
  | { readonly what: 'explain'; readonly job: JobId; readonly atLeast: number }
  | { readonly what: 'verdicts'; readonly jobs: readonly JobId[] }
  | { readonly what: 'consider'; readonly request: JobRequest }
  | { readonly what: 'ledger'; readonly atLeast: number }
  | { readonly what: 'planned' };

export type BrainTold =
  | { readonly what: 'lead'; readonly epoch: number | null }
  | { readonly what: 'begin-anew' };
