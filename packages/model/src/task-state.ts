// A task is one process of a run on one node. It is over by the agent's report, by the agent's word that it does not
// exist, or by the expiry of its node's lease; once over it stays over.
import { assertNever } from './assert.ts';
import type { TaskExit } from './outcome.ts';
import { allows, type Stepped, type Transitions } from './transitions.ts';

export type TaskState =
  | { readonly state: 'planned' }
  /** The agent has durably taken the start command. */
  | { readonly state: 'accepted' }
  | { readonly state: 'running'; readonly startedMs: number }
  | {
      readonly state: 'ended';
      readonly startedMs: number | null;
      readonly endedMs: number;
      readonly exit: TaskExit;
    };

export type TaskStateEvent =
  | { readonly kind: 'accept' }
  | { readonly kind: 'start'; readonly nowMs: number }
  | { readonly kind: 'end'; readonly exit: TaskExit; readonly nowMs: number };

export type TaskRefusal = 'not-now' | 'already-ended';

export const taskTransitions: Transitions<TaskState['state'], TaskStateEvent['kind']> = {
  planned: { accept: ['accepted'], start: ['running'], end: ['ended'] },
  accepted: { accept: ['accepted'], start: ['running'], end: ['ended'] },
  running: { start: ['running'], end: ['ended'] },
  ended: {},
};

export function stepTask(task: TaskState, event: TaskStateEvent): Stepped<TaskState, TaskRefusal> {
  if (task.state === 'ended') return { ok: false, reason: 'already-ended' };
  if (!allows(taskTransitions, task.state, event.kind)) return { ok: false, reason: 'not-now' };
  switch (event.kind) {
    case 'accept':
      return { ok: true, next: { state: 'accepted' } };
    case 'start':
      return {
        ok: true,
        next: task.state === 'running' ? task : { state: 'running', startedMs: event.nowMs },
      };
    case 'end':
      return {
        ok: true,
        next: {
          state: 'ended',
          startedMs: task.state === 'running' ? task.startedMs : null,
          endedMs: event.nowMs,
          exit: event.exit,
        },
      };
    default:
      return assertNever(event);
  }
}
