// Messages between the main thread and the worker thread that answers questions.
import type { JobRequest } from '@muster/engine';
import type { ReplayProgress, ReplayRequest, WhatIfQuestion } from '@muster/model';

export interface QuestionsWorkerData {
  readonly databaseUrl: string;
}

export type Asked =
  | { readonly what: 'whatIf'; readonly question: WhatIfQuestion; readonly atLeast: number }
  | { readonly what: 'score'; readonly request: JobRequest; readonly known: boolean }
  | { readonly what: 'replay'; readonly request: ReplayRequest }
  | { readonly what: 'snapshot'; readonly epoch: number; readonly bytesMax: number };

export type ToQuestions =
  | { readonly type: 'ask'; readonly id: number; readonly asked: Asked }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'stop' };

export type FromQuestions =
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'progress'; readonly id: number; readonly progress: ReplayProgress }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    }
  | { readonly type: 'bug'; readonly stack: string };
