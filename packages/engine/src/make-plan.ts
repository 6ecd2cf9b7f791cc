// One cycle's decision, in this order:
//   1. Jobs whose backoff ended join their lines; shapes that a change could have helped are opened again.
//   2. Walk the open part of the queue in order and place what fits (pass.ts), then undo it: nothing is decided until the
//      committed plan comes back as events.
//   3. For each shape of which a job did not fit, find out why on the state as it is. If it fits that state, jobs ahead
//      took the room in this plan: it is `behind`, and stays open to be judged again when the plan has come back.
//      Otherwise it is blocked with its reason, and costs nothing until something could help it. This is sound because
//      fitting is monotone for one group: what does not fit does not fit into less. Gangs of several groups, and those that
//      ask for places of the topology, are placed greedily and are not; they are tried again in every cycle that tries
//      anything.
//   4. Tell each entry whose binding reason is another than it was last told.
import {
  type EntryVerdict,
  type NodeId,
  type Plan,
  type PlanUnit,
  runId,
  type TaskPlacement,
} from '@muster/model';
import type { Fleet } from './fleet.ts';
import { Hasher } from './hash.ts';
import type { Placement } from './ledger.ts';
import { compareText } from './order.ts';
import { type Pass, type Placed, undoPass, walk } from './pass.ts';
import type { Entry } from './queue.ts';
import { type Reason, reasonOf } from './reason.ts';
import { isGreedy, matchShape, type Shape } from './shape.ts';
import type { State } from './state.ts';
import { hashPlaces } from './state-hash.ts';
import { fitsNow, whyNot } from './verdict.ts';
import { engineVersion } from './version.ts';

export function decide(state: State, nowMs: number): Plan {
  bringUp(state, nowMs);
  const pass = walk(state, () => false);
  const units = pass.placed.map((placed) => makeUnit(state, placed));
  undoPass(state, pass);
  const reasons = judge(state, pass);
  const plan = {
    sequence: state.sequence,
    // A question may have asked about a later time; jobs that were due then are due now.
    nowMs: state.clockMs,
    policyVersion: state.policyVersion,
    engineVersion,
    units,
    verdicts: tell(state, pass, reasons),
    wakeAtMs: wakeAt(state),
  };
  return { ...plan, hash: planHash(plan) };
}

/** Lines and open shapes as they are at this time; called before anything is decided or explained. */
export function bringUp(state: State, nowMs: number): void {
  const { queue, freed } = state;
  state.clockMs = Math.max(state.clockMs, nowMs);
  queue.promote(state.clockMs);
  const { nodesChanged } = state;
  if (state.allChanged) queue.reopenAll();
  else if (freed.size > 0)
    reopenWhere(
      state,
      (shape) => (nodesChanged && shape.blocked?.verdict.kind === 'impossible') || usesClass(shape, freed),
    );
  // Greedy shapes may happen to be helped by less room elsewhere: they are tried whenever anything is.
  if (state.touched || queue.open.size > 0) reopenWhere(state, isGreedy);
  state.nodesChanged = false;
  state.allChanged = false;
  state.touched = false;
  freed.clear();
}

function reopenWhere(state: State, helped: (shape: Shape) => boolean): void {
  for (const shape of state.queue.shapes.all()) {
    if (shape.blocked === null) continue;
    // Before as well, because a class may have gone with its last node.
    const before = helped(shape);
    matchShape(shape, state.fleets.live.classes);
    if (before || helped(shape)) state.queue.reopen(shape);
  }
}

function usesClass(shape: Shape, classes: ReadonlySet<number>): boolean {
  return shape.groups.some((group) =>
    group.options.some((option) => option.fits.some((fit) => classes.has(fit.classId))),
  );
}

const behind = 'behind';

function judge(state: State, pass: Pass): Map<Shape, Reason | typeof behind> {
  const reasons = new Map<Shape, Reason | typeof behind>();
  for (const shape of pass.failed) {
    if (pass.placed.length > 0 && fitsNow(state.fleets, shape)) {
      reasons.set(shape, behind);
      continue;
    }
    shape.blocked = whyNot(state.fleets, shape);
    state.queue.open.delete(shape);
    reasons.set(shape, shape.blocked);
  }
  return reasons;
}

/**
 * `behind` lasts one cycle, so it is told only to entries that know nothing yet; they stay fresh until a lasting reason
 * replaces it. Telling it to all would write every entry's verdict twice for each job that starts.
 */
function tell(state: State, pass: Pass, reasons: Map<Shape, Reason | typeof behind>): EntryVerdict[] {
  const { queue } = state;
  const verdicts: EntryVerdict[] = [];
  const tellEntry = (entry: Entry, reason: Reason | typeof behind): void => {
    const position = pass.heads.get(entry)?.position ?? entry.jobs.first();
    // All its jobs are in this plan; should a unit be dropped, the entry is told next time.
    if (position < 0 || reason === behind) queue.fresh.add(entry);
    else queue.fresh.delete(entry);
    if (position < 0 || (reason === behind && entry.told !== null)) return;
    const { binding, verdict } = reason === behind ? behindReason(state, entry.jobs.at(position)) : reason;
    if (entry.told === binding) return;
    entry.told = binding;
    verdicts.push({ entry: queue.keyOf(entry), verdict });
  };
  for (const [shape, reason] of reasons) {
    if (reason === behind || shape.told === reason.binding) continue;
    shape.told = reason.binding;
    const { entries } = shape;
    for (let p = entries.first(); p >= 0; p = entries.next(p))
      tellEntry(queue.entries[entries.at(p)]!, reason);
  }
  for (const entry of queue.fresh) {
    const reason = reasons.get(entry.shape) ?? entry.shape.blocked;
    if (reason) tellEntry(entry, reason);
  }
  return verdicts.sort((a, b) => compareText(a.entry, b.entry));
}

export function behindReason(state: State, job: number): Reason {
  return reasonOf({ kind: 'waits', reasons: [{ code: 'behind', ahead: state.queue.ahead(job) }] });
}

function wakeAt(state: State): number | null {
  const { delayed } = state.queue;
  const position = delayed.first();
  return position < 0 ? null : state.jobs.notBeforeMs[delayed.at(position)]!;
}

function makeUnit(state: State, { job, placement }: Placed): PlanUnit {
  const { jobs, queue, fleets } = state;
  const id = jobs.ids[job]!;
  const attempt = jobs.attempt[job]!;
  const { demand } = queue.entryOf(job).shape;
  return {
    kind: 'start',
    job: id,
    jobVersion: jobs.version[job]!,
    run: runId(id, attempt),
    attempt,
    exclusive: demand.exclusive,
    tasks: tasksOf(fleets.live, placement, demand.groups.length),
    port: placement.port,
    nodeGenerations: generations(fleets.live, placement),
  };
}

/** Groups as written, inside each node by node in the order they were chosen. */
function tasksOf(fleet: Fleet, { from, to }: Placement, groups: number): TaskPlacement[] {
  const { ledger } = fleet;
  const tasks: TaskPlacement[] = [];
  for (let group = 0; group < groups; group++) {
    for (let pick = from; pick < to; pick++) {
      if (ledger.group[pick] !== group) continue;
      const { node } = fleet.facts[ledger.slot[pick]!]!;
      const { cpuMilli, memoryMib, count, milli: deviceMilli } = ledger.fits[pick]!;
      const end = ledger.devicesAt[pick]! + ledger.tasks[pick]! * count;
      for (let i = 0, at = ledger.devicesAt[pick]!; i < ledger.tasks[pick]!; i++, at += count) {
        const devices = deviceList(ledger.devices, at, Math.min(end, at + count));
        tasks.push({ rank: tasks.length, group, node, cpuMilli, memoryMib, devices, deviceMilli });
      }
    }
  }
  return tasks;
}

/** Equal lists of few devices are one list: a plan of very many small jobs is mostly such. */
const noDevices: readonly number[] = [];
const single: (readonly number[])[] = Array.from({ length: 64 }, (_, i) => [i]);

function deviceList(devices: Int32Array, from: number, to: number): readonly number[] {
  if (from === to) return noDevices;
  return to === from + 1 ? (single[devices[from]!] ?? [devices[from]!]) : [...devices.subarray(from, to)];
}

function generations(fleet: Fleet, { from, to }: Placement): readonly (readonly [NodeId, number])[] {
  const { ledger } = fleet;
  if (to === from + 1) return fleet.stampsOf(ledger.slot[from]!);
  const nodes: (readonly [NodeId, number])[] = [];
  for (let pick = from; pick < to; pick++)
    if (ledger.first[pick] === 1) nodes.push(fleet.stampsOf(ledger.slot[pick]!)[0]!);
  return nodes.sort((a, b) => compareText(a[0], b[0]));
}

function hashUnit(hasher: Hasher, unit: PlanUnit): void {
  hasher.text(unit.kind).text(unit.job).number(unit.attempt).number(unit.jobVersion);
  if (unit.kind === 'release') {
    hasher.text(unit.reason.code);
    return;
  }
  hashPlaces(hasher, unit.kind === 'start' ? unit : unit.claim);
  const victims = unit.kind === 'preempt' ? unit.claim.victims : [];
  for (const { run, right } of victims) hasher.text(run).text(right);
  hasher.number(unit.nodeGenerations.length);
  for (const [node, generation] of unit.nodeGenerations) hasher.text(node).number(generation);
}

export function planHash(plan: Omit<Plan, 'hash'>): string {
  const hasher = new Hasher().number(plan.sequence).number(plan.nowMs).number(plan.policyVersion);
  hasher.text(plan.engineVersion).optional(plan.wakeAtMs).number(plan.units.length);
  for (const unit of plan.units) hashUnit(hasher, unit);
  for (const { entry, verdict } of plan.verdicts) hasher.text(entry).text(JSON.stringify(verdict));
  return hasher.digest();
}
