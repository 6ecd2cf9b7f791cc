// An explanation in sentences, the same in CLI and web: what would help as an edit of the spec or of the policy, who is ahead
// and why, and how what is free lies.
import type { Constraint } from './demand.ts';
import {
  type AheadJobView,
  type Change,
  type ChangeKind,
  explainBound,
  type RoomReport,
} from './explanation.ts';
import { amountText, writtenAmount } from './quota.ts';
import { formatDurationMs, formatMilli } from './units.ts';

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

function constraintText({ label, op, values }: Constraint): string {
  switch (op) {
    case 'in':
      return `${label} in ${values.join(', ')}`;
    case 'not-in':
      return `${label} not in ${values.join(', ')}`;
    case 'exists':
      return `${label} exists`;
    case 'absent':
      return `no ${label}`;
  }
}

/** "12 tasks instead of 16": what to change, in words. */
export function changeText(change: Change): string {
  const stops = change.victims === 0 ? '' : `, by stopping ${count(change.victims, 'run')}`;
  return `${words(change)}${stops}`;
}

/** What to tell when not everything was tried. */
export function boundText(): string {
  const { changeSteps, endSteps, runs } = explainBound;
  return `Not everything was tried: an answer takes at most ${changeSteps} steps for changes and ${endSteps} for the ends of the ${runs} runs that end first, and there may be more that would help.`;
}

function words(change: ChangeKind): string {
  switch (change.kind) {
    case 'tasks':
      return `${count(change.to, 'task')} in group ${change.group} instead of ${change.from}`;
    case 'model':
      return `${change.to} instead of ${change.from}${place(change)}`;
    case 'devices':
      return `${count(change.to, 'device')} a task instead of ${change.from}${place(change)}`;
    case 'property':
      return `any ${change.property} of a device${place(change)}`;
    case 'constraint':
      return `without the constraint "${constraintText(change.rule)}"`;
    case 'topology': {
      const whose = change.group === null ? '' : ` of group ${change.group}`;
      return change.to === null
        ? `without the topology${whose}, which asks for a ${change.from}`
        : `one ${change.to} instead of one ${change.from} in the topology${whose}`;
    }
    case 'near':
      return change.to === null
        ? `group ${change.group} not near another`
        : `group ${change.group} near another in one ${change.to} instead of one ${change.from}`;
    case 'exclusive':
      return 'sharing its nodes with other jobs';
    case 'tier':
      return `tier ${change.to} instead of ${change.from}`;
    case 'time-limit': {
      const from = change.fromMs === null ? 'none' : formatDurationMs(change.fromMs);
      return `a time limit of ${formatDurationMs(change.toMs)} instead of ${from}`;
    }
    case 'ceiling': {
      const whose = change.user === null ? '' : ` for user ${change.user}`;
      const to = change.to === null ? 'lifted' : `raised to ${amountText(change.key, change.to)}`;
      return `the ceiling of project ${change.project}${whose} ${to}; it is ${amountText(change.key, change.from)}`;
    }
  }
}

function place({ group, alternative }: { readonly group: string; readonly alternative: number }): string {
  const which = alternative === 0 ? '' : `, alternative ${alternative + 1}`;
  return group === 'main' ? which : ` in group ${group}${which}`;
}

/** What to write, in the job's spec or, for a ceiling, in the policy. */
export function changeEdit(change: ChangeKind): string {
  switch (change.kind) {
    case 'tasks':
      return `${inGroup(change.group)}tasks: ${change.to}`;
    case 'model':
      return `${accelerator(change)}model: ${change.to}`;
    case 'devices':
      return `${accelerator(change)}count: ${change.to}`;
    case 'property':
      return `leave out ${accelerator(change)}${change.property}`;
    case 'constraint':
      return `leave out constraints[${change.index}]`;
    case 'topology': {
      const at = `${change.group === null ? '' : inGroup(change.group)}topology`;
      return change.to === null ? `leave out ${at}` : `${at}.level: ${change.to}`;
    }
    case 'near': {
      const at = `${inGroup(change.group)}near`;
      return change.to === null ? `leave out ${at}` : `${at}.level: ${change.to}`;
    }
    case 'exclusive':
      return 'exclusive: false';
    case 'tier':
      return `tier: ${change.to}`;
    case 'time-limit':
      return `timeLimit: ${formatDurationMs(change.toMs)}`;
    case 'ceiling': {
      const which = change.user === null ? 'ceiling' : 'userCeiling';
      const at = `quotas of ${change.project}: ${which}.${change.key}`;
      return change.to === null ? `leave out ${at}` : `${at}: ${writtenAmount(change.key, change.to)}`;
    }
  }
}

function inGroup(group: string): string {
  return group === 'main' ? '' : `groups.${group}.`;
}

function accelerator({
  group,
  alternative,
}: {
  readonly group: string;
  readonly alternative: number;
}): string {
  const which = alternative === 0 ? '' : `[${alternative}]`;
  return `${inGroup(group)}resources.accelerators${which}.`;
}

const percent = (millionths: number): string => `${Math.round(millionths / 1000) / 10} %`;

/** Why a job is ahead; `time` writes a moment as its reader likes it. */
export function aheadText({ because }: AheadJobView, time: (at: string) => string): string {
  switch (because.rule) {
    case 'starved':
      return `has waited since ${time(because.since)}, so long that it goes first`;
    case 'tier':
      return `tier ${because.theirs} goes before ${because.yours}`;
    case 'guarantee':
      return `${because.theirs} stays within its guarantee, ${because.yours} does not`;
    case 'share':
      return `${because.theirs} has ${percent(because.theirShare)} of the fleet by its share, ${because.yours} ${percent(because.yourShare)}`;
    case 'project-name':
      return `${because.theirs} and ${because.yours} have equal shares; the name decides`;
    case 'deadline':
      return `must start by ${time(because.latestStart)} for its deadline`;
    case 'priority':
      return `priority ${because.theirs}, yours is ${because.yours}`;
    case 'expected':
      return `expected to run ${lengthText(because.theirMs)}, yours ${lengthText(because.yourMs)}`;
    case 'own-project':
      return 'goes before a job of your project that goes before yours';
    case 'submitted':
      return `submitted earlier, ${time(because.submittedAt)}`;
  }
}

function lengthText(ms: number | null): string {
  return ms === null ? 'for a time nobody knows' : formatDurationMs(ms);
}

/** "16 gpu are free on 16 nodes, 1 on each; a task needs 8 on one node: 0 nodes have that." */
export function roomText(room: RoomReport): string {
  const { key, taskMilli, tasks, freeMilli, freeNodes, taskNodes, spread } = room;
  const needs = tasks * taskMilli;
  const each =
    spread.length === 1 ? `, ${formatMilli(spread[0]!.freeMilli)} on each` : ` (${spreadText(room)})`;
  const where =
    freeNodes === 0 ? ' where it may run' : ` on ${count(freeNodes, 'node')}${freeNodes === 1 ? '' : each}`;
  const is = freeMilli === 1000 ? 'is' : 'are';
  const short = freeMilli < needs ? `; it needs ${amountText(key, needs)} in all` : '';
  const one = `a task needs ${formatMilli(taskMilli)} on one node: ${count(taskNodes, 'node')} ${taskNodes === 1 ? 'has' : 'have'} room for that now`;
  return `${amountText(key, freeMilli)} ${is} free${where}${short}; ${one}, and the largest gang that fits is ${count(room.tasksFit, 'task')} of ${tasks}${placeText(room)}`;
}

function spreadText({ spread, freeNodes }: RoomReport): string {
  const rows = spread.map(({ freeMilli, nodes }) => `${formatMilli(freeMilli)} on ${nodes}`);
  const shown = spread.reduce((sum, { nodes }) => sum + nodes, 0);
  return [...rows, ...(shown < freeNodes ? [`less on ${freeNodes - shown}`] : [])].join(', ');
}

function placeText({ place: best, key }: RoomReport): string {
  if (best === null) return '';
  const name = best.name === '' ? `nodes without ${best.level}` : `${best.level} ${best.name}`;
  return `; they must be in one ${best.level}, and the best is ${name} with ${amountText(key, best.freeMilli)} free, room for ${count(best.tasksFit, 'task')}`;
}
