// The same properties for every state machine: `step` and its table agree in both directions, ended things stay as
// they are, and no sequence of events leaves the table. A machine is described once below, by samples of its states
// and events; a state or event without a sample fails.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JobId, NodeId, RunId } from './ids.ts';
import { freshPast, type JobState, type JobStateEvent, jobTransitions, stepJob } from './job-state.ts';
import type { Move } from './move.ts';
import { type NodeState, type NodeStateEvent, nodeTransitions, stepNode } from './node-state.ts';
import { type AfterRun, noFailures, type RunResult } from './outcome.ts';
import { type RunState, type RunStateEvent, runTransitions, type Stop, stepRun } from './run-state.ts';
import { stepTask, type TaskState, type TaskStateEvent, taskTransitions } from './task-state.ts';
import { type Stepped, stateDiagram, type Transitions } from './transitions.ts';

interface Machine {
  readonly name: string;
  readonly table: Transitions<string, string>;
  readonly step: (state: never, event: never) => Stepped<{ readonly state: string }, string>;
  readonly initial: { readonly state: string };
  readonly states: readonly { readonly state: string }[];
  readonly events: readonly { readonly kind: string }[];
  readonly terminal: string;
  readonly refusal: string;
}

const run = 'run_000000000000000000_1' as RunId;
const node = 'node_000000000000000000' as NodeId;
const succeeded: RunResult = { outcome: 'succeeded' };
const reason = { code: 'exit', message: 'exit 1' };
const failed: RunResult = {
  outcome: 'failed',
  class: 'user',
  code: 1,
  signal: null,
  reason,
  rank: 0,
  node,
};
const stop: Stop = {
  reason,
  result: { ...failed, outcome: 'cancelled', class: 'cancelled' },
  preemptor: null,
  askedMs: null,
};

const waiting = { attempt: 1, sinceMs: 5, notBeforeMs: 0, ...freshPast };
const placed = { attempt: 1, run, ...freshPast };
const victim = { job: 'job_000000000000000000' as JobId, run, right: 'tier' } as const;
const claim = { exclusive: false, tasks: [], port: 1, uses: {}, victims: [victim] };
const move: Move = {
  run,
  place: { label: 'cluster', op: 'in', values: ['west'] },
  by: 'ann',
  reason: null,
  over: false,
  base: {
    head: '',
    demand: {
      groups: [],
      constraints: [],
      preferences: [],
      topology: null,
      capabilities: [],
      exclusive: false,
    },
  },
};
const jobStates: JobState[] = [
  { state: 'queued', claim: null, ...waiting },
  { state: 'queued', claim, ...waiting },
  { state: 'held', by: 'ann', ...waiting },
  { state: 'queued', claim: null, ...waiting, move },
  { state: 'running', startedMs: 7, ...placed, move },
  { state: 'starting', ...placed },
  { state: 'running', startedMs: 7, ...placed },
  { state: 'stopping', by: 'ann', ...placed },
  { state: 'ended', attempt: 1, result: succeeded, endedMs: 9 },
];
const retry = { kind: 'retry', failures: noFailures, delayMs: 1000, avoid: [] } as const;
const runEnds = (result: RunResult, then: AfterRun): JobStateEvent => ({
  kind: 'run-end',
  run,
  result,
  then,
  preemptor: null,
  savedMs: 0,
  nowMs: 10,
});
const jobEvents: JobStateEvent[] = [
  { kind: 'hold', by: 'bob' },
  { kind: 'release', nowMs: 10 },
  { kind: 'cancel', by: 'bob', nowMs: 10 },
  { kind: 'plan', run },
  { kind: 'claim', claim },
  { kind: 'unclaim' },
  { kind: 'move', move },
  { kind: 'unmove' },
  { kind: 'run-start', run, nowMs: 10 },
  runEnds(succeeded, { kind: 'end', result: succeeded, failures: noFailures }),
  runEnds(failed, retry),
];

const runStates: RunState[] = [
  { state: 'planned' },
  { state: 'starting' },
  { state: 'running', startedMs: 5 },
  { state: 'stopping', startedMs: null, stop },
  { state: 'stopping', startedMs: 5, stop },
  { state: 'unknown', startedMs: null, sinceMs: 6, stop: null },
  { state: 'unknown', startedMs: 5, sinceMs: 6, stop },
  { state: 'ended', startedMs: 5, endedMs: 9, result: succeeded },
];
const runEvents: RunStateEvent[] = [
  { kind: 'attempt' },
  { kind: 'start', nowMs: 10 },
  { kind: 'stop', stop },
  { kind: 'silence', nowMs: 10 },
  { kind: 'seen', allStarted: true, nowMs: 10 },
  { kind: 'seen', allStarted: false, nowMs: 10 },
  { kind: 'end', result: failed, nowMs: 10 },
];

const taskStates: TaskState[] = [
  { state: 'planned' },
  { state: 'accepted' },
  { state: 'running', startedMs: 5 },
  { state: 'ended', startedMs: 5, endedMs: 9, exit: { ok: true } },
];
const taskEvents: TaskStateEvent[] = [
  { kind: 'accept' },
  { kind: 'start', nowMs: 10 },
  { kind: 'end', exit: { ok: true }, nowMs: 10 },
];

const nodeStates: NodeState[] = [
  { state: 'ready', sinceMs: 1 },
  { state: 'silent', sinceMs: 1 },
  { state: 'lost', sinceMs: 1, reason },
  { state: 'removed', sinceMs: 1 },
];
const nodeEvents: NodeStateEvent[] = [
  { kind: 'hello', nowMs: 10 },
  { kind: 'silence', nowMs: 10 },
  { kind: 'lose', reason, nowMs: 10 },
  { kind: 'remove', nowMs: 10 },
];

const machines: Machine[] = [
  {
    name: 'job',
    table: jobTransitions,
    step: stepJob as Machine['step'],
    initial: jobStates[0]!,
    states: jobStates,
    events: jobEvents,
    terminal: 'ended',
    refusal: 'already-ended',
  },
  {
    name: 'run',
    table: runTransitions,
    step: stepRun as Machine['step'],
    initial: runStates[0]!,
    states: runStates,
    events: runEvents,
    terminal: 'ended',
    refusal: 'already-ended',
  },
  {
    name: 'task',
    table: taskTransitions,
    step: stepTask as Machine['step'],
    initial: taskStates[0]!,
    states: taskStates,
    events: taskEvents,
    terminal: 'ended',
    refusal: 'already-ended',
  },
  {
    name: 'node',
    table: nodeTransitions,
    step: stepNode as Machine['step'],
    initial: nodeStates[0]!,
    states: nodeStates,
    events: nodeEvents,
    terminal: 'removed',
    refusal: 'removed',
  },
];

describe.each(machines)('$name', ({ table, step, initial, states, events, terminal, refusal }) => {
  const take = (state: unknown, event: unknown) => step(state as never, event as never);
  const kinds = [...new Set(events.map((event) => event.kind))];

  test('every state and every event of the table has a sample', () => {
    expect(new Set(states.map((state) => state.state))).toEqual(new Set(Object.keys(table)));
    const inTable = new Set(Object.values(table).flatMap((row) => Object.keys(row)));
    expect(new Set(kinds)).toEqual(inTable);
  });

  test.each(Object.keys(table).flatMap((state) => kinds.map((kind) => [state, kind] as const)))(
    'in %s, %s leads exactly where the table says',
    (state, kind) => {
      const reached = new Set<string>();
      for (const from of states.filter((sample) => sample.state === state)) {
        for (const event of events.filter((sample) => sample.kind === kind)) {
          const stepped = take(from, event);
          if (stepped.ok) reached.add(stepped.next.state);
          else expect(stepped.reason).toBe(state === terminal ? refusal : 'not-now');
        }
      }
      expect(reached).toEqual(new Set(table[state]?.[kind] ?? []));
    },
  );

  test('nothing leads out of the end', () => {
    expect(table[terminal]).toEqual({});
    const end = states.find((state) => state.state === terminal);
    for (const event of events) expect(take(end, event)).toEqual({ ok: false, reason: refusal });
  });

  test('every state can be reached, and from every one the end', () => {
    const next = (state: string) => Object.values(table[state] ?? {}).flatMap((to) => to ?? []);
    const from = (start: string) => {
      const seen = new Set([start]);
      for (const state of seen) for (const to of next(state)) seen.add(to);
      return seen;
    };
    expect(from(initial.state)).toEqual(new Set(Object.keys(table)));
    for (const state of Object.keys(table)) expect(from(state)).toContain(terminal);
  });

  test('no sequence of events leaves the table, changes its input or leaves the end', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 30 }), (sequence) => {
        let state = initial;
        for (const event of sequence) {
          const before = JSON.stringify(state);
          const stepped = take(state, event);
          expect(JSON.stringify(state)).toBe(before);
          if (!stepped.ok) continue;
          expect(state.state).not.toBe(terminal);
          expect(table[state.state]?.[event.kind]).toContain(stepped.next.state);
          state = stepped.next;
        }
      }),
    );
  });

  test('its picture has every arrow once', () => {
    const lines = stateDiagram(table, initial.state, [terminal]).split('\n');
    const arrows = Object.entries(table).flatMap(([from, row]) =>
      Object.entries(row).flatMap(([kind, to]) => (to ?? []).map((next) => `  ${from} --> ${next}: ${kind}`)),
    );
    expect(lines).toEqual([
      'stateDiagram-v2',
      `  [*] --> ${initial.state}`,
      ...arrows,
      `  ${terminal} --> [*]`,
    ]);
  });
});
