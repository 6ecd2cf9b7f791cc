// From rows of the store to the JSON of the API.
import {
  type ArraySize,
  type ArrayState,
  type ArrayView,
  type AuditView,
  countOf,
  type EventView,
  exitCode,
  isArray,
  type JobDetail,
  type JobSpec,
  type JobSpecView,
  type JobView,
  type LogEvent,
  type MoveView,
  movingText,
  type NodeView,
  type ProjectView,
  parseMemberId,
  placeText,
  type RunView,
  type TaskView,
  type TokenView,
  verdictText,
} from '@muster/model';
import type { AuditRow, JobRow, NodeRow, ProjectRow, RunRow, TaskRow, TokenRow } from '@muster/store';
import { verdictView } from './engine-views.ts';
import { time, timeOrNull } from './time-text.ts';

export function jobView(row: JobRow, plannedMs: number | null = null): JobView {
  const { spec, state } = row;
  const ended = state.state === 'ended' ? state : null;
  const notBeforeMs = 'notBeforeMs' in state ? state.notBeforeMs : 0;
  return {
    id: row.id,
    name: spec.name,
    title: spec.title,
    project: spec.project,
    tier: spec.tier,
    priority: spec.priority,
    state: state.state,
    attempt: isArray(state) ? 1 : state.attempt,
    tasks: spec.groups.reduce((sum, { demand }) => sum + demand.tasks, 0),
    devices: (row.deviceMilli ?? askedMilli(spec)) / 1000,
    labels: spec.labels,
    submittedBy: row.submittedBy,
    submittedAt: time(row.submittedMs),
    startedAt: timeOrNull(row.startedMs),
    endedAt: ended ? time(ended.endedMs) : null,
    notBefore: notBeforeMs > 0 ? time(notBeforeMs) : null,
    plannedStart: timeOrNull(plannedMs),
    estimate: row.estimate,
    result: ended ? ended.result : null,
    exitCode: ended ? exitCode(ended.result) : null,
    verdict: row.verdict && verdictView(row.verdict),
    reason: reasonOf(row),
    run: 'run' in state ? state.run : null,
    move: moveView(state),
    array: isArray(state) && spec.array ? arrayView(state, spec.array) : null,
    index: parseMemberId(row.id)?.index ?? null,
    version: row.version,
  };
}

/** Of the first alternative, which is the one it asks for by preference. */
function askedMilli({ groups }: JobSpec): number {
  return groups.reduce((sum, { demand }) => sum + demand.tasks * (demand.accelerators[0]?.milli ?? 0), 0);
}

function arrayView(state: ArrayState, { count, parallel }: ArraySize): ArrayView {
  const { waiting: notStarted, again, live: running, succeeded, failed, cancelled } = state;
  const waiting = countOf(notStarted) + again;
  return { count, parallel, waiting, running, succeeded, failed, cancelled, notStarted };
}

function moveView(state: JobRow['state']): MoveView | null {
  const move = 'move' in state ? state.move : undefined;
  if (!move || move.over) return null;
  return { place: placeText(move.place), by: move.by, reason: move.reason };
}

function reasonOf(row: JobRow): string | null {
  const parts = [isArray(row.state) ? '' : movingText(row.state), plainReason(row) ?? ''];
  return parts.filter((text) => text !== '').join('; ') || null;
}

function plainReason({ state, verdict, unheardSinceMs, halt }: JobRow): string | null {
  if (state.state === 'held') return `held by ${state.by}`;
  if (unheardSinceMs !== null) return unheardText(unheardSinceMs);
  if (halt !== null) return halt.message;
  return verdict ? verdictText(verdict) : null;
}

/** A run nobody hears from keeps its place until its end is proven; the reader should know that it is being waited for. */
export function unheardText(sinceMs: number): string {
  return `not heard from since ${time(sinceMs)}, so it keeps its place until its end is proven`;
}

export function jobDetail(row: JobRow, runs: readonly RunRow[], plannedMs: number | null): JobDetail {
  return {
    ...jobView(row, plannedMs),
    spec: specView(row.spec),
    runs: runs.map((run) => runView(run, row.spec)),
  };
}

export function specView({ deadlineMs, ...spec }: JobSpec): JobSpecView {
  return { ...spec, deadline: timeOrNull(deadlineMs) };
}

export function runView(row: RunRow, spec: JobSpec): RunView {
  const { state } = row;
  return {
    id: row.id,
    job: row.job,
    attempt: row.attempt,
    state: state.state,
    epoch: row.epoch,
    plannedAt: time(row.plannedMs),
    startedAt: timeOrNull('startedMs' in state ? state.startedMs : null),
    endedAt: state.state === 'ended' ? time(state.endedMs) : null,
    unknownSince: state.state === 'unknown' ? time(state.sinceMs) : null,
    result: state.state === 'ended' ? state.result : null,
    checkpoint: row.checkpoint && {
      at: time(row.checkpoint.atMs),
      step: row.checkpoint.step,
      path: row.checkpoint.path,
    },
    halt: state.state === 'ended' ? null : row.halt,
    tasks: row.tasks.map((task) => taskView(task, spec)),
  };
}

function taskView({ placement, nodeName, state }: TaskRow, spec: JobSpec): TaskView {
  return {
    rank: placement.rank,
    group: spec.groups[placement.group]?.name ?? '',
    node: placement.node,
    nodeName,
    devices: placement.devices,
    deviceMilli: placement.deviceMilli,
    cpuMilli: placement.cpuMilli,
    memoryMib: placement.memoryMib,
    state: state.state,
    startedAt: timeOrNull('startedMs' in state ? state.startedMs : null),
    endedAt: state.state === 'ended' ? time(state.endedMs) : null,
    exit: state.state === 'ended' ? state.exit : null,
  };
}

export function nodeView(row: NodeRow): NodeView {
  const { drain, inventory, state, strikes } = row;
  return {
    id: row.id,
    name: row.name,
    cluster: row.cluster,
    pool: row.pool,
    state: state.state,
    stateSince: time(state.sinceMs),
    stateReason: state.state === 'lost' ? state.reason : null,
    drain: drain
      ? {
          by: drain.by,
          reason: drain.reason,
          since: time(drain.sinceMs),
          quarantine: drain.quarantine === true,
        }
      : null,
    trust: row.trustMilli / 1000,
    strikes: strikes
      ? {
          count: strikes.count,
          code: strikes.code,
          detail: strikes.detail,
          last: time(strikes.lastMs),
          until: time(strikes.untilMs),
          spared: strikes.spared,
        }
      : null,
    labels: inventory.labels,
    address: inventory.address,
    cpuMilli: inventory.cpuMilli,
    cpuMilliUsed: row.cpuMilliUsed,
    memoryMib: inventory.memoryMib,
    memoryMibUsed: row.memoryMibUsed,
    devices: inventory.devices.map((device) => ({
      ...device,
      used: (row.devicesUsed[device.index] ?? 0) > 0,
    })),
    capabilities: inventory.capabilities,
    renewedAt: timeOrNull(row.renewedMs),
    agentVersion: row.agentVersion,
    isolation: row.isolation,
    generation: row.generation,
  };
}

export function eventView({ sequence, atMs, body }: LogEvent): EventView {
  const { kind, ...rest } = body;
  return { sequence, at: time(atMs), kind, body: rest };
}

export function projectView(row: ProjectRow): ProjectView {
  return { path: row.path, createdAt: time(row.createdMs), createdBy: row.createdBy };
}

export function tokenView(row: TokenRow): TokenView {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    project: row.project,
    createdAt: time(row.createdMs),
    createdBy: row.createdBy,
    expiresAt: timeOrNull(row.expiresMs),
    lastUsedAt: timeOrNull(row.lastUsedMs),
    revokedAt: timeOrNull(row.revokedMs),
  };
}

export function auditView({ id, atMs, who, from, action, target, outcome, detail }: AuditRow): AuditView {
  return { id, at: time(atMs), who, from, action, target, outcome, detail };
}
