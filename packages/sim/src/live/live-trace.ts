// The jobs of a live system as a trace, with all that they really asked: groups, alternatives, constraints, tier, priority.
import type { JobFacts } from '@muster/model';
import { devicesAsked } from '../traces/muster-log.ts';
import type { PastJob } from '../traces/past-jobs.ts';
import type { Trace } from '../traces/trace.ts';

export interface LiveTrace {
  readonly trace: Trace;
  /** By the number of the job in the trace. */
  readonly facts: readonly JobFacts[];
  readonly ids: readonly string[];
  /** How long each really waited for its first start. */
  readonly waitedMs: Float64Array;
  /** When the first of them was submitted. */
  readonly originMs: number;
}

export function liveTrace(jobs: readonly PastJob[]): LiveTrace {
  const inOrder = [...jobs].sort((a, b) => a.facts.submittedMs - b.facts.submittedMs || compare(a.id, b.id));
  const facts = inOrder.map((job) => job.facts);
  const originMs = facts[0]?.submittedMs ?? 0;
  const [users, projects, programs] = [names(facts, 'user'), names(facts, 'project'), names(facts, 'name')];
  const trace: Trace = {
    name: 'the live system',
    format: 'live',
    count: facts.length,
    submitMs: Float64Array.from(facts, ({ submittedMs }) => submittedMs - originMs),
    runMs: Float64Array.from(inOrder, ({ runMs }) => runMs),
    askedMs: Float64Array.from(facts, ({ durationMs }) => durationMs ?? 0),
    size: Int32Array.from(facts, ({ demand }) => devicesAsked(demand)),
    milli: new Int32Array(facts.length).fill(1000),
    user: users.numbers,
    project: projects.numbers,
    program: programs.numbers,
    line: new Int32Array(facts.length),
    names: { users: users.names, projects: projects.names, programs: programs.names },
    originMs,
    savesWork: true,
    machineDevices: null,
  };
  const waitedMs = Float64Array.from(inOrder, (job) => job.startedMs - job.facts.submittedMs);
  return { trace, facts, ids: inOrder.map(({ id }) => id), waitedMs, originMs };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function names(facts: readonly JobFacts[], field: 'user' | 'project' | 'name') {
  const numbers = new Map<string, number>();
  const column = Int32Array.from(facts, (one) => {
    const known = numbers.get(one[field]) ?? numbers.size;
    numbers.set(one[field], known);
    return known;
  });
  return { names: [...numbers.keys()], numbers: column };
}
