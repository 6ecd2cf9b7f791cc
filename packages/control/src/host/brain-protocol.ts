// Messages between the main thread and the brain's worker thread.
import type { JobRequest } from '@muster/engine';
import type { JobId, Ledger } from '@muster/model';
import type { BrainStatus } from '../brain.ts';
import type { Explained } from '../control-plane.ts';

export interface BrainWorkerData {
  readonly databaseUrl: string;
}

export type ToBrain =
  | { readonly type: 'lead'; readonly epoch: number | null }
  | {
      readonly type: 'explain';
      readonly id: number;
      readonly job: JobId;
      readonly atLeast: number;
      readonly whole: boolean;
    }
  | { readonly type: 'consider'; readonly id: number; readonly request: JobRequest }
  | { readonly type: 'ledger'; readonly id: number; readonly atLeast: number }
  | { readonly type: 'stop' };

export type BrainAnswer = Explained | Ledger;

export type FromBrain =
  | { readonly type: 'ready' }
  | { readonly type: 'status'; readonly status: BrainStatus }
  | { readonly type: 'answer'; readonly id: number; readonly answer: BrainAnswer }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    }
  | { readonly type: 'bug'; readonly stack: string };
