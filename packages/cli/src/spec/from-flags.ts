// The job that `muster run` flags describe. Values go to the server as written; what it refuses is told by the flag
// that said it.
import { MusterError } from '@muster/client';
import type { FieldProblem, JobSpecInput } from '@muster/model';
import { nearest, parseSpec } from '@muster/model';
import { CliFailure, usage } from '../failure.ts';
import { clean } from '../text/clean.ts';

export interface RunFlags {
  readonly gpus?: string;
  readonly tasks?: string;
  readonly cpus?: string;
  readonly memory?: string;
  readonly name?: string;
  readonly title?: string;
  readonly project?: string;
  readonly tier?: string;
  readonly priority?: string;
  readonly env?: readonly string[];
  readonly workdir?: string;
  readonly timeLimit?: string;
  readonly stopAfter?: string;
  readonly retry?: string;
  readonly label?: readonly string[];
  readonly exclusive?: boolean;
  readonly array?: string;
}

export function specFromFlags(
  command: readonly string[],
  flags: RunFlags,
  cwd: string,
  env: Env,
): JobSpecInput {
  const accelerators = flags.gpus === undefined ? undefined : parseGpus(flags.gpus);
  const resources = defined({
    cpus: number(flags.cpus, '--cpus'),
    memory: flags.memory,
    accelerators,
  });
  const spec = defined({
    name: flags.name ?? nameOf(command[0] ?? ''),
    title: flags.title,
    project: flags.project,
    tier: flags.tier,
    priority: number(flags.priority, '--priority'),
    command: [...command],
    // The program is looked up as this shell would: a virtual environment that is active here is meant to be used.
    env: orNothing(defined({ PATH: env.PATH, ...(flags.env && pairs(flags.env, '--env', env)) })),
    workdir: flags.workdir ?? cwd,
    tasks: number(flags.tasks, '--tasks'),
    resources: orNothing(resources),
    retry: flags.retry === undefined ? undefined : { user: number(flags.retry, '--retry') },
    timeLimit: flags.timeLimit,
    stopAfter: flags.stopAfter,
    labels: flags.label && pairs(flags.label, '--label', {}),
    exclusive: flags.exclusive,
    array: flags.array === undefined ? undefined : parseArray(flags.array),
  }) as JobSpecInput;
  const parsed = parseSpec(spec, { project: 'default', tier: 'standard', stopAfterMs: () => null });
  if (!parsed.ok) throw usage(flagProblems(parsed.problems));
  return spec;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * "4", "H100:4", by what the devices are ("8:interconnect=nvlink:generation=90"), or alternatives in order of preference:
 * "H200:2,H100:4:speed=0.6".
 */
export function parseGpus(text: string): object | object[] {
  const alternatives = text.split(',').map((part) => {
    const match = /^(?:([A-Za-z0-9][\w.-]*):)?(\d+(?:\.\d+)?)((?::[a-z]+=[^:=]+)*)$/.exec(part.trim());
    if (!match)
      throw usage(
        `--gpus ${clean(text)} is not understood; write a count (4), a model and a count (H100:4), alternatives (H200:2,H100:4), or what the devices must be (8:memory=80GiB:interconnect=nvlink:generation=90)`,
      );
    return { ...defined({ model: match[1], count: Number(match[2]) }), ...properties(match[3] ?? '') };
  });
  return alternatives.length === 1 ? (alternatives[0] ?? {}) : alternatives;
}

const propertyNames = ['memory', 'interconnect', 'generation', 'speed'];

function properties(text: string): Record<string, string | number> {
  const pairs = text.split(':').filter((pair) => pair !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      if (!propertyNames.includes(name)) {
        const near = nearest(name, propertyNames);
        throw usage(
          `--gpus: "${clean(name)}" is no property of a device; ${near ? `did you mean "${near}"?` : `there are ${propertyNames.join(', ')}`}`,
        );
      }
      return [
        name,
        name === 'generation' || name === 'speed' ? (number(value, `--gpus ${name}`) ?? 0) : value,
      ];
    }),
  );
}

/** "100", or "100%10" for at most ten at once. */
function parseArray(text: string): object {
  const match = /^(\d{1,9})(?:%(\d{1,9}))?$/.exec(text);
  if (!match)
    throw usage(
      `--array ${clean(text)} is not understood; write how many members (100), and how many at once (100%10)`,
    );
  return defined({
    count: Number(match[1]),
    parallel: match[2] === undefined ? undefined : Number(match[2]),
  });
}

function number(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw usage(`${flag} wants a number, got "${clean(text)}"`);
  return Number(text);
}

/** KEY=VALUE; a bare KEY of --env takes the value from the environment of this command. */
function pairs(items: readonly string[], flag: string, env: Env): Record<string, string> {
  const found = new Map<string, string>();
  for (const item of items) {
    const [name, value] = pair(item, flag, env);
    if (found.has(name)) throw usage(`${flag} ${clean(name)} is given twice; give it once`);
    found.set(name, value);
  }
  return Object.fromEntries(found);
}

function pair(item: string, flag: string, env: Env): [name: string, value: string] {
  const at = item.indexOf('=');
  if (at > 0) return [item.slice(0, at), item.slice(at + 1)];
  const own = env[item];
  if (own !== undefined) return [item, own];
  throw usage(
    `${flag} wants NAME=VALUE, got "${clean(item)}"${flag === '--env' ? ', and there is no such variable here' : ''}`,
  );
}

/** A short name from the program: /usr/bin/Train_2.py is train-2-py. */
export function nameOf(program: string): string {
  const base = program.split('/').at(-1) ?? '';
  const name = base
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'job' : name;
}

const flagOf: readonly (readonly [pointer: RegExp, flag: string])[] = [
  [/^\/resources\/accelerators/, '--gpus'],
  [/^\/resources\/(cpus|memory)/, '--$1'],
  [/^\/timeLimit/, '--time-limit'],
  [/^\/stopAfter/, '--stop-after'],
  [/^\/retry/, '--retry'],
  [/^\/labels(?:\/(.*))?/, '--label $1'],
  [/^\/env\/PATH$/, 'the PATH of this shell'],
  [/^\/env(?:\/(.*))?/, '--env $1'],
  [/^\/(name|title|project|tier|priority|workdir|tasks|exclusive|array)(?=\/|$)/, '--$1'],
  [/^\/command/, 'the command'],
  [/^\/(uses|cluster|pool|role)$/, '--$1'],
  [
    /^\/(kind|directory|conf|partition|account|qos|kubeconfig|context|namespace|image|region|capacity)$/,
    '--$1',
  ],
  [/^\/fencedCheckpoints$/, '--fenced-checkpoints'],
  [/^\/lostAfter$/, '--lost-after'],
  [/^\/serverUrl$/, '--server-url'],
  [/^\/expiresIn$/, '--expires-in'],
  [/^\/path$/, 'the path'],
];

export function flagProblems(problems: readonly Pick<FieldProblem, 'path' | 'message'>[]): string {
  return problems
    .map(({ path, message }) => {
      const rule = flagOf.find(([pointer]) => pointer.test(path));
      const match = rule && path.match(rule[0]);
      const flag = rule ? rule[1].replace('$1', match?.[1] ?? '') : path;
      return `${clean(flag.trim())}: ${clean(message)}`;
    })
    .join('; ');
}

export function refusedFlags(
  problem: { readonly errors?: readonly { path: string; message: string }[] } | null,
): CliFailure | null {
  return problem?.errors && problem.errors.length > 0 ? new CliFailure(flagProblems(problem.errors)) : null;
}

/** For a request made of flags: what the server refuses of it is told by the flag that said it, as wrong usage. */
export function inFlags(error: unknown): never {
  const errors = error instanceof MusterError ? error.problem?.errors : undefined;
  throw errors && errors.length > 0 ? usage(flagProblems(errors)) : error;
}

function orNothing<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;
}
