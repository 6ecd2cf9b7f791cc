// Kueue's performance configurations (generator.yaml of its test/performance/scheduler): cohorts of queues, and for each queue what is
// submitted to it at which pace. Read as they are; what is not understood is refused, so that nothing is left out unseen.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { CalledWrongly } from '../called-wrongly.ts';

export interface Workload {
  readonly className: string;
  readonly runtimeMs: number;
  readonly priority: number;
  /** Cores of one pod, in thousandths. */
  readonly cpuMilli: number;
  readonly pods: number;
  readonly topology: { readonly mode: 'required' | 'preferred' | 'spread'; readonly label: string } | null;
}

export interface WorkloadSet {
  readonly count: number;
  readonly everyMs: number;
  /** Each time, one of each. */
  readonly workloads: readonly Workload[];
}

export interface QueueSet {
  readonly className: string;
  readonly count: number;
  readonly nominalMilli: number;
  /** Null: no limit. */
  readonly borrowingMilli: number | null;
  readonly reclaims: boolean;
  readonly preemptsWithin: boolean;
  readonly sets: readonly WorkloadSet[];
}

export interface CohortSet {
  readonly className: string;
  readonly count: number;
  readonly queues: readonly QueueSet[];
}

export interface Level {
  readonly label: string;
  /** Domains of this level in each one of the level above. */
  readonly count: number;
}

export interface Config {
  readonly cohorts: readonly CohortSet[];
  /** From wide to narrow, the node last; null when places do not matter. */
  readonly topology: {
    readonly levels: readonly Level[];
    readonly cpuMilli: number;
    readonly memoryMib: number;
  } | null;
}

export function readConfig(path: string): Config {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new CalledWrongly(
      `there is no configuration ${path}. It should be a generator.yaml of Kueue's test/performance/scheduler/configs ` +
        '(github.com/kubernetes-sigs/kueue). Say where one is with --config FILE',
    );
  }
  return parseConfig(text, path);
}

export function parseConfig(text: string, path: string): Config {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    throw new CalledWrongly(`${path} is not YAML: ${(error as Error).message}`);
  }
  const root = new Fields(document, path);
  const cohorts = root.list('cohorts').map(cohortOf);
  const topology = root.has('topology') ? topologyOf(root.object('topology')) : null;
  if (cohorts.length === 0) throw new CalledWrongly(`${path} has no cohorts`);
  return { cohorts, topology };
}

function cohortOf(fields: Fields): CohortSet {
  return {
    className: fields.text('className', 'cohort'),
    count: fields.count('count'),
    queues: fields.list('queuesSets').map(queueOf),
  };
}

function queueOf(fields: Fields): QueueSet {
  return {
    className: fields.text('className', 'cq'),
    count: fields.count('count'),
    nominalMilli: fields.cpuMilli('nominalQuota'),
    borrowingMilli: fields.has('borrowingLimit') ? fields.cpuMilli('borrowingLimit') : null,
    reclaims: fields.text('reclaimWithinCohort', 'Never') !== 'Never',
    preemptsWithin: fields.text('withinClusterQueue', 'Never') !== 'Never',
    sets: fields.list('workloadsSets').map((set) => ({
      count: set.count('count'),
      everyMs: set.count('creationIntervalMs'),
      workloads: set.list('workloads').map(workloadOf),
    })),
  };
}

const modes: Readonly<Record<string, 'required' | 'preferred' | 'spread'>> = {
  required: 'required',
  preferred: 'preferred',
  balanced: 'spread',
};

function workloadOf(fields: Fields): Workload {
  const constraint = fields.text('tasConstraint', '');
  const mode = modes[constraint];
  if (constraint !== '' && mode === undefined)
    throw fields.wrong('tasConstraint', `"${constraint}" is none of ${Object.keys(modes).join(', ')}`);
  return {
    className: fields.text('className', 'workload'),
    runtimeMs: fields.count('runtimeMs'),
    priority: fields.has('priority') ? fields.integer('priority') : 0,
    cpuMilli: fields.cpuMilli('request'),
    pods: fields.has('podCount') ? fields.count('podCount') : 1,
    topology: mode === undefined ? null : { mode, label: fields.text('tasLevel', '') },
  };
}

function topologyOf(fields: Fields): NonNullable<Config['topology']> {
  const levels = fields.list('levels');
  const node = levels.at(-1);
  if (!node) throw fields.wrong('levels', 'is empty');
  const capacity = node.object('capacity');
  return {
    levels: levels.map((level) => ({ label: level.text('nodeLabel', ''), count: level.count('count') })),
    cpuMilli: capacity.cpuMilli('cpu'),
    memoryMib: capacity.has('memory') ? capacity.mebibytes('memory') : 65_536,
  };
}

const units: Readonly<Record<string, number>> = { Mi: 1, Gi: 1024, Ti: 1024 ** 2 };

/** One mapping of the document, with where it stands for messages. */
class Fields {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #at: string;

  constructor(value: unknown, at: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new CalledWrongly(`${at} is not a mapping`);
    this.#value = value as Record<string, unknown>;
    this.#at = at;
  }

  wrong(name: string, message: string): CalledWrongly {
    return new CalledWrongly(`${this.#at}: ${name} ${message}`);
  }

  has(name: string): boolean {
    return this.#value[name] !== undefined && this.#value[name] !== null;
  }

  object(name: string): Fields {
    return new Fields(this.#value[name], `${this.#at}: ${name}`);
  }

  list(name: string): Fields[] {
    const value = this.#value[name];
    if (!Array.isArray(value)) throw this.wrong(name, 'is not a list');
    return value.map((item, i) => new Fields(item, `${this.#at}: ${name}[${i}]`));
  }

  text(name: string, otherwise: string): string {
    const value = this.#value[name] ?? otherwise;
    if (typeof value !== 'string') throw this.wrong(name, 'is not a text');
    return value;
  }

  integer(name: string): number {
    const value = this.#value[name];
    if (!Number.isSafeInteger(value))
      throw this.wrong(name, `is ${JSON.stringify(value)}, not a whole number`);
    return value as number;
  }

  count(name: string): number {
    const value = this.integer(name);
    if (value <= 0) throw this.wrong(name, `is ${value}, not above 0`);
    return value;
  }

  /** "500m" or a number of cores. */
  cpuMilli(name: string): number {
    const match = /^(\d+(?:\.\d{1,3})?)(m?)$/.exec(String(this.#value[name]));
    if (!match) throw this.wrong(name, `is ${JSON.stringify(this.#value[name])}, not an amount of cores`);
    return Math.round(Number(match[1]) * (match[2] === 'm' ? 1 : 1000));
  }

  mebibytes(name: string): number {
    const match = /^(\d+)(Mi|Gi|Ti)$/.exec(String(this.#value[name]));
    if (!match)
      throw this.wrong(name, `is ${JSON.stringify(this.#value[name])}, not an amount such as 256Gi`);
    return Number(match[1]) * units[match[2]!]!;
  }
}
