// Messages between the main thread and a worker thread: questions with a number and their answers, words that want no answer,
// and what the worker has to say by itself.

export type ToWorker<Asked, Told> =
  | { readonly type: 'ask'; readonly id: number; readonly asked: Asked }
  /** Nobody waits for the answer any more. */
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'tell'; readonly told: Told }
  | { readonly type: 'stop' };

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'status'; readonly status: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'progress'; readonly id: number; readonly progress: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    }
  | { readonly type: 'bug'; readonly stack: string };

export interface WorkerData {
  readonly databaseUrl: string;
}
