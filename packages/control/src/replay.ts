// Replay: makes logged decisions again and compares. It starts at a snapshot, applies the log, and decides where the log
// says that it was decided; a life (packages/model/src/decision.ts) is replayed from its beginning, because what was told
// earlier in it decides what is told later.
//
// Under another policy a second engine goes beside the first: the first makes the recorded plan, in words, the second the
// other one. History after a difference would have been another one, so the replay stops there. With `count` it goes on, and
// what it then counts is how often the other policy would have decided otherwise *from the recorded state*.
import {
  decideAgain,
  type Engine,
  engineVersion,
  type LoadEngine,
  planHash,
  RowsReader,
} from '@muster/engine';
import {
  type Decision,
  type Divergence,
  type EngineRows,
  type LogEvent,
  type NodeId,
  OperationalError,
  type Plan,
  type Policy,
  type ReplayProgress,
  type ReplayReport,
  type ReplayRequest,
} from '@muster/model';
import type { Store } from '@muster/store';
import { type Names, planDifferences } from './plan-differences.ts';
import { committedLine, planLines } from './plan-lines.ts';

export interface ReplayDeps {
  readonly store: Pick<
    Store,
    'decisions' | 'eventsSince' | 'head' | 'lifeAt' | 'snapshotPieces' | 'snapshots'
  >;
  readonly load: LoadEngine;
  readonly progress: (progress: ReplayProgress) => void;
  readonly cancelled: () => boolean;
}

const decisionsAtOnce = 200;
const eventsAtOnce = 5000;
const linesMax = 50;

interface Start {
  readonly snapshot: number;
  /** The first decision to make, and the first to compare. */
  readonly life: Decision;
  readonly first: Decision;
}

export async function replay(deps: ReplayDeps, request: ReplayRequest): Promise<ReplayReport> {
  const { store } = deps;
  const start = await findStart(store, request);
  const rows = await readSnapshot(store, start.snapshot);
  const names: Names = {
    nodes: new Map(rows.nodes.map(({ node, name }) => [node, name])),
    jobs: new Map(rows.jobs.map(({ job, name }) => [job, name])),
  };
  const recorded = deps.load(rows);
  const other = request.policy === null ? null : deps.load({ ...rows, policy: request.policy });
  const toSequence = request.toSequence ?? (await store.head()).sequence;
  const versions = new Set<string>();
  let report = {
    from: null as number | null,
    to: null as number | null,
    decisions: 0,
    same: 0,
    leadIn: 0,
    cut: false,
  };
  let divergence: Divergence | null = null;
  for await (const decision of decisionsFrom(store, start.life)) {
    if (decision.sequence > toSequence) break;
    if (report.decisions >= request.limit) {
      report = { ...report, cut: true };
      break;
    }
    if (deps.cancelled()) throw new OperationalError('unavailable', 'the replay was cancelled');
    versions.add(decision.engineVersion);
    const [plan, otherPlan] = await decideBoth(store, recorded, other, decision, request.policy, names);
    if (decision.id < start.first.id) {
      report = { ...report, leadIn: report.leadIn + 1 };
      continue;
    }
    const made = hashAs(plan, decision) === decision.hash;
    const same = made && (otherPlan === null || hashAs(otherPlan, decision) === decision.hash);
    const { sequence } = decision;
    report = {
      ...report,
      from: report.from ?? sequence,
      to: sequence,
      decisions: report.decisions + 1,
      same: report.same + (same ? 1 : 0),
    };
    deps.progress({ decisions: report.decisions, sequence, toSequence });
    if (same) continue;
    divergence ??= await diverged(store, decision, { plan, otherPlan, made }, names);
    if (!request.count || !made) break;
  }
  return {
    snapshot: start.snapshot,
    engineVersion,
    recordedVersions: [...versions].sort(),
    ...report,
    divergence,
  };
}

/** The hash the plan would have had under the names it was recorded with: the contents are compared, not who made it. */
function hashAs(plan: Plan, { engineVersion: version, policyVersion }: Decision): string {
  return planHash({ ...plan, engineVersion: version, policyVersion });
}

async function findStart(store: ReplayDeps['store'], request: ReplayRequest): Promise<Start> {
  const snapshots = await store.snapshots();
  const [oldest] = snapshots;
  if (!oldest)
    throw new OperationalError(
      'not-found',
      'there is nothing to replay yet: the leader writes the first snapshot within a minute of its start, and what is decided after it can be made again',
    );
  const fromSequence = Math.max(request.fromSequence ?? 0, oldest.sequence);
  const query = { after: 0, fromSequence, fromMs: request.fromMs ?? 0, limit: 1 };
  const [first] = await store.decisions(query);
  if (!first) throw new OperationalError('not-found', await nothingDecided(store, oldest.sequence));
  const life = await store.lifeAt(first.sequence);
  if (life && life.id <= first.id && beganAt(life) >= oldest.sequence) return from(snapshots, life, first);
  // The life began before the oldest snapshot: the next one that did not is the first that can be made again.
  for await (const decision of decisionsFrom(store, { ...first, id: first.id - 1 }))
    if (decision.turn === 0 && beganAt(decision) >= oldest.sequence)
      return from(snapshots, decision, decision);
  throw new OperationalError(
    'not-found',
    'no decision of that time can be made again: a replay starts at a snapshot, and the first one is younger; what is decided after it can be',
  );
}

async function nothingDecided(store: ReplayDeps['store'], fromSequence: number): Promise<string> {
  const [any] = await store.decisions({ after: 0, fromSequence, fromMs: 0, limit: 1 });
  return any
    ? `nothing was decided in that time; the oldest decision that can be made again was made at event ${any.sequence}`
    : `there is nothing to replay yet: nothing was decided since the first snapshot, at event ${fromSequence}`;
}

function from(snapshots: readonly { readonly sequence: number }[], life: Decision, first: Decision): Start {
  const snapshot = snapshots.findLast(({ sequence }) => sequence <= beganAt(life))!.sequence;
  return { snapshot, life: { ...life, id: life.id - 1 }, first };
}

function beganAt({ quiet, sequence }: Decision): number {
  return quiet[0]?.[0] ?? sequence;
}

async function* decisionsFrom(store: ReplayDeps['store'], before: Decision): AsyncGenerator<Decision> {
  for (let after = before.id; ; ) {
    const page = await store.decisions({ after, fromSequence: 0, limit: decisionsAtOnce });
    yield* page;
    after = page.at(-1)?.id ?? after;
    if (page.length < decisionsAtOnce) return;
  }
}

async function readSnapshot(store: ReplayDeps['store'], sequence: number): Promise<EngineRows> {
  const reader = new RowsReader();
  for await (const piece of store.snapshotPieces(sequence)) reader.take(piece);
  return reader.rows();
}

/** Both engines see the same events, up to the same points. */
async function decideBoth(
  store: ReplayDeps['store'],
  recorded: Engine,
  other: Engine | null,
  decision: Decision,
  policy: Policy | null,
  names: Names,
): Promise<[Plan, Plan | null]> {
  const one = decideAgain(recorded, decision);
  const two = other && decideAgain(other, decision);
  let step = one.next();
  let otherStep = two?.next() ?? null;
  while (!step.done) {
    const events = await eventsBetween(store, recorded.sequence, step.value);
    for (const { body } of events) {
      if (body.kind === 'node.joined' || body.kind === 'node.changed') names.nodes.set(body.node, body.name);
      if (body.kind === 'job.submitted') names.jobs.set(body.job, body.name);
    }
    step = one.next(events);
    otherStep = two?.next(policy ? events.map((event) => underPolicy(event, policy)) : events) ?? null;
  }
  return [step.value, otherStep?.done ? otherStep.value : null];
}

/** Policies that came later do not come under this one. */
function underPolicy(event: LogEvent, policy: Policy): LogEvent {
  return event.body.kind === 'policy.changed' ? { ...event, body: { ...event.body, policy } } : event;
}

async function eventsBetween(store: ReplayDeps['store'], after: number, to: number): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  for (let at = after; at < to; ) {
    const page = await store.eventsSince(at, Math.min(eventsAtOnce, to - at));
    if (page[0]?.sequence !== at + 1)
      throw new OperationalError(
        'not-found',
        `the log no longer has event ${at + 1}; start at a later decision`,
      );
    events.push(...page);
    at = page.at(-1)!.sequence;
  }
  return events;
}

async function diverged(
  store: ReplayDeps['store'],
  decision: Decision,
  { plan, otherPlan, made }: { plan: Plan; otherPlan: Plan | null; made: boolean },
  names: Names,
): Promise<Divergence> {
  const nameOf = (node: NodeId): string => names.nodes.get(node) ?? node;
  const replayed = made && otherPlan ? otherPlan : plan;
  const was = made ? planLines(plan, nameOf) : await committedLines(store, decision, nameOf);
  const is = planLines(replayed, nameOf);
  const { id, sequence, nowMs, engineVersion: version, hash } = decision;
  return {
    decision: id,
    sequence,
    nowMs,
    recordedVersion: version,
    recordedHash: hash,
    hash: hashAs(replayed, decision),
    words: made && otherPlan ? planDifferences(plan, otherPlan, names) : [],
    recorded: onlyIn(was, is),
    replayed: onlyIn(made ? is : is.slice(0, replayed.units.length), was),
    recordedVerdictsKnown: made,
  };
}

function onlyIn(lines: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  const found = lines.filter((line) => !known.has(line));
  return found.length > linesMax
    ? [...found.slice(0, linesMax), `and ${found.length - linesMax} more`]
    : found;
}

/** What the commit of the decision wrote: its units follow in the log, before anything decided later. */
async function committedLines(
  store: ReplayDeps['store'],
  { sequence, units }: Decision,
  nameOf: (node: NodeId) => string,
): Promise<string[]> {
  const lines: string[] = [];
  for (const { body } of await store.eventsSince(sequence, eventsAtOnce)) {
    const line = lines.length < units ? committedLine(body, nameOf) : null;
    if (line !== null) lines.push(line);
  }
  return lines;
}
