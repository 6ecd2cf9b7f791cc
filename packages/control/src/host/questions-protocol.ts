// What the worker thread that answers questions is asked.
import type { JobRequest } from '@muster/engine';
import type { ReplayRequest, WhatIfQuestion } from '@muster/model';

export type QuestionsAsked =
  | { readonly what: 'whatIf'; readonly question: WhatIfQuestion; readonly atLeast: number }
  | { readonly what: 'score'; readonly request: JobRequest; readonly known: boolean }
  | { readonly what: 'replay'; readonly request: ReplayRequest }
  | { readonly what: 'snapshot'; readonly epoch: number; readonly bytesMax: number };
