// Every field of the spec is submitted here and must show its effect in the whole spec, or its row in the table of
// what is not supported yet. The fields are read from the schema, so that a new one without a row fails.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { JobSpec, SpecDefaults } from './job-spec.ts';
import { entryFacts, jobDemand } from './job-spec.ts';
import { fieldProblems, knownKeys, type ParsedSpec, parseSpec } from './parse-spec.ts';
import { defaultPolicy, tierNamed } from './policy.ts';
import { jobSpecSchema } from './spec.ts';
import { unsupportedFields } from './unsupported.ts';

const defaults: SpecDefaults = {
  project: 'research',
  tier: 'standard',
  stopAfterMs: (tier) => tierNamed(defaultPolicy, tier)?.stopAfterMs ?? null,
};
const parse = (input: unknown): ParsedSpec => parseSpec(input, defaults);

function whole(input: unknown): JobSpec {
  const parsed = parse(input);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.spec;
}

const bare: JobSpec = {
  name: 'job',
  title: null,
  project: 'research',
  kind: 'batch',
  tier: 'standard',
  priority: 0,
  groups: [
    {
      name: 'main',
      command: ['true'],
      env: {},
      demand: {
        name: 'main',
        tasks: 1,
        cpuMilli: null,
        memoryMib: null,
        accelerators: [],
        topology: null,
        near: null,
      },
    },
  ],
  image: null,
  workdir: null,
  constraints: [],
  preferences: [],
  topology: null,
  exclusive: false,
  retry: { user: 0, outOfMemory: 0, infrastructure: 5 },
  timeLimitMs: null,
  deadlineMs: null,
  stop: { signal: 'TERM', graceMs: 30_000 },
  checkpoint: null,
  stopAfterMs: 300_000,
  outputLimitMib: 64,
  labels: {},
};

test('a command alone is a job, with every default in place', () => {
  expect(whole({ command: ['true'] })).toEqual(bare);
});

describe('a group near another', () => {
  const groups = (...near: (string | null)[]) => ({
    command: ['true'],
    groups: near.map((group, i) => ({
      name: `g${i}`,
      ...(group === null ? {} : { near: { group, level: 'rack' } }),
    })),
  });

  test.each([
    ['a group that is not there', groups(null, 'g7'), '/groups/1/near/group', 'names no group'],
    ['itself', groups('g0'), '/groups/0/near/group', 'in a circle'],
    ['one that is near it', groups('g1', 'g0'), '/groups/0/near/group', 'in a circle'],
  ])('cannot be near %s', (_, spec, path, message) => {
    expect(parse(spec)).toMatchObject({ problems: [{ path, message: expect.stringContaining(message) }] });
  });

  test('may be near one that is near a third', () => {
    expect(parse(groups('g1', 'g2', null)).ok).toBe(true);
  });
});

describe('every field', () => {
  type Row = { readonly give: object } & (
    | { readonly effect: (spec: JobSpec) => unknown; readonly is: unknown }
    | { readonly unsupportedAt: string }
  );
  const demand = (spec: JobSpec, group = 0) => spec.groups[group]?.demand;
  const device = (spec: JobSpec, group = 0) => demand(spec, group)?.accelerators[0];
  const gpu = (fields: object) => ({ resources: { accelerators: { count: 1, ...fields } } });
  const gpus = (fields: object) => ({ resources: { accelerators: [{ count: 1, ...fields }] } });
  const inGroup = (fields: object) => ({ groups: [fields] });

  const acceleratorRows = (pattern: string, wrap: (fields: object) => object): Record<string, Row> => ({
    [`${pattern}/kind`]: { give: wrap({ kind: 'tpu' }), effect: (s) => device(s)?.kind, is: 'tpu' },
    [`${pattern}/model`]: { give: wrap({ model: 'H100' }), effect: (s) => device(s)?.model, is: 'H100' },
    [`${pattern}/count`]: { give: wrap({ count: 8 }), effect: (s) => device(s)?.milli, is: 8000 },
    [`${pattern}/memory`]: {
      give: wrap({ memory: '80GiB' }),
      effect: (s) => device(s)?.memoryMib,
      is: 81_920,
    },
    [`${pattern}/interconnect`]: {
      give: wrap({ interconnect: 'nvlink' }),
      effect: (s) => device(s)?.interconnect,
      is: 'nvlink',
    },
    [`${pattern}/generation`]: { give: wrap({ generation: 9 }), effect: (s) => device(s)?.generation, is: 9 },
    [`${pattern}/speed`]: { give: wrap({ speed: 0.5 }), effect: (s) => device(s)?.speedMilli, is: 500 },
  });

  const rows: Record<string, Row> = {
    '/name': { give: { name: 'train' }, effect: (s) => s.name, is: 'train' },
    '/title': { give: { title: 'A fine "job" 😀' }, effect: (s) => s.title, is: 'A fine "job" 😀' },
    '/project': { give: { project: 'a/b' }, effect: (s) => s.project, is: 'a/b' },
    '/kind': { give: { kind: 'service' }, unsupportedAt: '/kind' },
    '/tier': { give: { tier: 'critical' }, effect: (s) => [s.tier, s.stopAfterMs], is: ['critical', 25_000] },
    '/priority': { give: { priority: -7 }, effect: (s) => s.priority, is: -7 },
    '/command': {
      give: { command: ['sh', '-c', 'a\nb'] },
      effect: (s) => s.groups[0]?.command,
      is: ['sh', '-c', 'a\nb'],
    },
    '/env': {
      give: { env: { LD_PRELOAD: 'x', PATH: '' } },
      effect: (s) => s.groups[0]?.env,
      is: { LD_PRELOAD: 'x', PATH: '' },
    },
    '/secrets/*/ref': { give: { secrets: { TOKEN: { ref: 'hf' } } }, unsupportedAt: '/secrets' },
    '/image/ref': {
      give: { image: { ref: 'x:1' } },
      effect: (s) => [s.image, jobDemand(s).capabilities],
      is: [{ ref: 'x:1', use: 'required' }, ['containers']],
    },
    '/image/use': {
      give: { image: { ref: 'x', use: 'where-supported' } },
      effect: (s) => [s.image?.use, jobDemand(s).capabilities],
      is: ['where-supported', []],
    },
    '/workdir': { give: { workdir: '/data' }, effect: (s) => s.workdir, is: '/data' },
    '/tasks': { give: { tasks: 4 }, effect: (s) => demand(s)?.tasks, is: 4 },
    '/tasks/min': { give: { tasks: { min: 2, max: 4 } }, unsupportedAt: '/tasks' },
    '/tasks/max': { give: { tasks: { min: 4, max: 4 } }, effect: (s) => demand(s)?.tasks, is: 4 },
    '/resources/cpus': { give: { resources: { cpus: 1.5 } }, effect: (s) => demand(s)?.cpuMilli, is: 1500 },
    '/resources/memory': {
      give: { resources: { memory: '1.5GiB' } },
      effect: (s) => demand(s)?.memoryMib,
      is: 1536,
    },
    ...acceleratorRows('/resources/accelerators', gpu),
    ...acceleratorRows('/resources/accelerators/*', gpus),
    '/groups/*/name': {
      give: inGroup({ name: 'a' }),
      effect: (s) => [s.groups[0]?.name, demand(s)?.name],
      is: ['a', 'a'],
    },
    '/groups/*/tasks': { give: inGroup({ tasks: 3 }), effect: (s) => demand(s)?.tasks, is: 3 },
    '/groups/*/tasks/min': { give: inGroup({ tasks: { min: 1, max: 2 } }), unsupportedAt: '/groups/0/tasks' },
    '/groups/*/tasks/max': {
      give: inGroup({ tasks: { min: 2, max: 2 } }),
      effect: (s) => demand(s)?.tasks,
      is: 2,
    },
    '/groups/*/command': {
      give: inGroup({ command: ['x'] }),
      effect: (s) => s.groups[0]?.command,
      is: ['x'],
    },
    '/groups/*/env': {
      give: { env: { A: '1', B: '1' }, groups: [{ env: { B: '2' } }] },
      effect: (s) => s.groups[0]?.env,
      is: { A: '1', B: '2' },
    },
    '/groups/*/resources/cpus': {
      give: { resources: { cpus: 9 }, ...inGroup({ resources: { cpus: 2 } }) },
      effect: (s) => demand(s)?.cpuMilli,
      is: 2000,
    },
    '/groups/*/resources/memory': {
      give: inGroup({ resources: { memory: '2GiB' } }),
      effect: (s) => demand(s)?.memoryMib,
      is: 2048,
    },
    '/groups/*/topology/level': {
      give: inGroup({ topology: { level: 'rack', mode: 'required' } }),
      effect: (s) => demand(s)?.topology,
      is: { level: 'rack', mode: 'required' },
    },
    '/groups/*/topology/mode': {
      give: inGroup({ topology: { level: 'rack', mode: 'spread' } }),
      effect: (s) => demand(s)?.topology?.mode,
      is: 'spread',
    },
    '/groups/*/near/group': {
      give: { groups: [{ name: 'a' }, { name: 'b', near: { group: 'a', level: 'rack' } }] },
      effect: (s) => demand(s, 1)?.near?.group,
      is: 'a',
    },
    '/groups/*/near/level': {
      give: { groups: [{ name: 'a' }, { name: 'b', near: { group: 'a', level: 'rack' } }] },
      effect: (s) => demand(s, 1)?.near?.level,
      is: 'rack',
    },
    ...acceleratorRows('/groups/*/resources/accelerators', (f) => inGroup(gpu(f))),
    ...acceleratorRows('/groups/*/resources/accelerators/*', (f) => inGroup(gpus(f))),
    '/constraints/*/label': {
      give: { constraints: [{ label: 'zone', exists: true }] },
      effect: (s) => s.constraints,
      is: [{ label: 'zone', op: 'exists', values: [] }],
    },
    '/constraints/*/in': {
      give: { constraints: [{ label: 'zone', in: ['a', 'b'] }] },
      effect: (s) => s.constraints,
      is: [{ label: 'zone', op: 'in', values: ['a', 'b'] }],
    },
    '/constraints/*/notIn': {
      give: { constraints: [{ label: 'zone', notIn: ['a'] }] },
      effect: (s) => s.constraints,
      is: [{ label: 'zone', op: 'not-in', values: ['a'] }],
    },
    '/constraints/*/exists': {
      give: { constraints: [{ label: 'zone', exists: false }] },
      effect: (s) => jobDemand(s).constraints,
      is: [{ label: 'zone', op: 'absent', values: [] }],
    },
    ...Object.fromEntries(
      [
        { label: 'a', exists: true },
        { label: 'a', in: ['b'] },
        { label: 'a', notIn: ['b'] },
        { label: 'a', exists: true },
        { label: 'a', exists: true },
      ].map((rule, i) => [
        `/preferences/*/${['label', 'in', 'notIn', 'exists', 'weight'][i]}`,
        {
          give: { preferences: [{ ...rule, weight: 5 }] },
          effect: (s: JobSpec) => jobDemand(s).preferences.map(({ label, weight }) => [label, weight]),
          is: [['a', 5]],
        },
      ]),
    ),
    '/topology/level': {
      give: { topology: { level: 'rack', mode: 'required' } },
      effect: (s) => jobDemand(s).topology?.level,
      is: 'rack',
    },
    '/topology/mode': {
      give: { topology: { level: 'rack', mode: 'spread' } },
      effect: (s) => jobDemand(s).topology?.mode,
      is: 'spread',
    },
    '/exclusive': { give: { exclusive: true }, effect: (s) => jobDemand(s).exclusive, is: true },
    '/data/*/region': {
      give: { data: [{ region: 'east', size: '2GiB' }], timeLimit: '2h' },
      effect: (s) => jobDemand(s).data,
      is: { parts: [{ region: 'east', sizeMib: 2048 }], overMs: 7_200_000 },
    },
    '/data/*/cluster': {
      give: { data: [{ cluster: 'west', size: '1GiB' }] },
      effect: (s) => jobDemand(s).data,
      is: { parts: [{ cluster: 'west', sizeMib: 1024 }], overMs: 3_600_000 },
    },
    '/data/*/size': {
      give: { data: [{ region: 'east', size: '3GiB' }] },
      effect: (s) => jobDemand(s).data?.parts[0]?.sizeMib,
      is: 3072,
    },
    '/retry/user': {
      give: { retry: { user: 3 } },
      effect: (s) => s.retry,
      is: { user: 3, outOfMemory: 0, infrastructure: 5 },
    },
    '/retry/outOfMemory': { give: { retry: { outOfMemory: 3 } }, effect: (s) => s.retry.outOfMemory, is: 3 },
    '/retry/infrastructure': {
      give: { retry: { infrastructure: 0 } },
      effect: (s) => s.retry.infrastructure,
      is: 0,
    },
    '/timeLimit': { give: { timeLimit: '1h30m' }, effect: (s) => s.timeLimitMs, is: 5_400_000 },
    '/stop/signal': {
      give: { stop: { signal: 'USR1' } },
      effect: (s) => s.stop,
      is: { signal: 'USR1', graceMs: 30_000 },
    },
    '/stop/grace': {
      give: { stop: { grace: '90s' } },
      effect: (s) => s.stop,
      is: { signal: 'TERM', graceMs: 90_000 },
    },
    '/stopAfter': { give: { stopAfter: 'never' }, effect: (s) => s.stopAfterMs, is: null },
    '/checkpoint/signal': {
      give: { checkpoint: { signal: 'USR1' } },
      effect: (s) => s.checkpoint,
      is: { signal: 'USR1', waitMs: 60_000 },
    },
    '/checkpoint/wait': {
      give: { checkpoint: { signal: 'USR1', wait: '2m' } },
      effect: (s) => s.checkpoint?.waitMs,
      is: 120_000,
    },
    '/checkpoint/fenced': {
      give: { checkpoint: { fenced: true } },
      effect: (s) => [s.checkpoint, s.fenced],
      is: [null, true],
    },
    '/checkpoint/restore': {
      give: { checkpoint: { restore: '5m' } },
      effect: (s) => [s.checkpoint, s.restoreMs, entryFacts(s, 'ada').restoreMs],
      is: [null, 300_000, 300_000],
    },
    '/dependencies/*/job': { give: { dependencies: [{ job: 'job_x' }] }, unsupportedAt: '/dependencies' },
    '/dependencies/*/when': {
      give: { dependencies: [{ job: 'job_x', when: 'failed' }] },
      unsupportedAt: '/dependencies',
    },
    '/array/count': {
      give: { array: { count: 10 } },
      effect: (s) => s.array,
      is: { count: 10, parallel: null },
    },
    '/array/parallel': {
      give: { array: { count: 10, parallel: 2 } },
      effect: (s) => s.array,
      is: { count: 10, parallel: 2 },
    },
    '/deadline': {
      give: { deadline: '2026-11-15T09:30:00Z' },
      effect: (s) => s.deadlineMs,
      is: Date.UTC(2026, 10, 15, 9, 30),
    },
    '/output/limit': { give: { output: { limit: '1GiB' } }, effect: (s) => s.outputLimitMib, is: 1024 },
    '/labels': {
      give: { labels: { 'example.com/team': 'ocr' } },
      effect: (s) => s.labels,
      is: { 'example.com/team': 'ocr' },
    },
  };

  test('of the schema has a row here, and every row a field', () => {
    expect(Object.keys(rows).sort()).toEqual(leaves(jobSpecSchema, '').sort());
  });

  test.each(Object.entries(rows))('%s has its effect, or says that it has none yet', (_, row) => {
    const input = { command: ['true'], ...row.give };
    if ('is' in row) {
      expect(row.effect(whole(input))).toEqual(row.is);
      expect(whole(input)).not.toEqual(bare);
    } else {
      const parsed = parse(input);
      if (parsed.ok) throw new Error('accepted');
      expect(parsed.problems.map(({ code, path }) => [code, path])).toEqual([
        ['unsupported-field', row.unsupportedAt],
      ]);
      expect(unsupportedFields.map(({ message }) => message)).toContain(parsed.problems[0]?.message);
    }
  });

  test('in the table of unsupported ones is used by a row', () => {
    const told = Object.values(rows).flatMap((row) => {
      const parsed = parse({ command: ['true'], ...row.give });
      return parsed.ok ? [] : parsed.problems.map((problem) => problem.message);
    });
    const missing = unsupportedFields
      .filter(({ message }) => !told.includes(message))
      .map(({ field }) => field);
    expect(missing).toEqual([]);
  });
});

type Def = {
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  options?: z.core.$ZodType[];
  element?: z.core.$ZodType;
  valueType?: z.core.$ZodType;
  shape?: Record<string, z.core.$ZodType>;
};

/** Pointer patterns of the fields that hold a value of their own; * stands for an index or a name. */
function leaves(schema: z.core.$ZodType, path: string): string[] {
  const def = schema._zod.def as Def;
  const inner = def.innerType ?? def.in;
  if (inner) return leaves(inner, path);
  if (def.options) return [...new Set(def.options.flatMap((option) => leaves(option, path)))];
  if (def.shape) return Object.entries(def.shape).flatMap(([key, child]) => leaves(child, `${path}/${key}`));
  const child = def.element ?? def.valueType;
  const below = child ? leaves(child, `${path}/*`) : [];
  return below.length === 0 || (below.length === 1 && below[0] === `${path}/*`) ? [path] : below;
}

describe('groups', () => {
  test('take what they do not say from the job', () => {
    const spec = whole({
      command: ['job'],
      env: { A: '1' },
      resources: {
        cpus: 1,
        memory: '1GiB',
        accelerators: [
          { model: 'H100', count: 8 },
          { model: 'A100', count: 8 },
        ],
      },
      groups: [
        { name: 'trainer', tasks: 2 },
        { name: 'loader', command: ['load'], resources: { cpus: 4 } },
      ],
    });
    expect(spec.groups.map((group) => [group.name, group.command, group.env, group.demand.cpuMilli])).toEqual(
      [
        ['trainer', ['job'], { A: '1' }, 1000],
        ['loader', ['load'], { A: '1' }, 4000],
      ],
    );
    expect(spec.groups.map((group) => group.demand.accelerators.map((item) => item.model))).toEqual([
      ['H100', 'A100'],
      ['H100', 'A100'],
    ]);
  });
});

/** A correct test must not fail because the machine is busy. */
const timeout = 60_000;

const ok = { command: ['true'] };
const reserved = 'is reserved: MUSTER_*, SLURM_* and SBATCH_* are set by Muster';
const thousandths =
  'must be a whole number from 1 to 4096, or a part of one device in thousandths (0.001 to 0.999)';
const nameMessage = 'must be lower-case letters, digits and inner hyphens, 1 to 63 characters';
const count = (value: unknown) => ({ ...ok, resources: { accelerators: { count: value } } });
const json = (text: string): unknown => JSON.parse(text);

/** Name, input, then [path, message] of every problem; a message may be a part of the sentence. */
type Refused = [string, unknown, readonly (readonly [string, string])[]];
const refused: readonly Refused[] = [
  ['nothing', undefined, [['', 'is missing; it must be a mapping of fields']]],
  ['null', null, [['', 'must be a mapping of fields, not null']]],
  ['a list', [ok], [['', 'must be a mapping of fields, not a list']]],
  ['a text', 'true', [['', 'must be a mapping of fields, not a text']]],
  ['an empty object', {}, [['/command', 'is required: the program and its arguments, as a list']]],
  [
    'a shell line',
    { command: 'python train.py' },
    [['/command', 'must be a list, such as [a, b], not a text']],
  ],
  ['no words', { command: [] }, [['/command', '>=1 items']]],
  ['an empty program', { command: ['', 'x'] }, [['/command', 'must start with a program']]],
  ['a number as argument', { command: ['x', 1] }, [['/command/1', 'must be a text, not ']]],
  ['NUL in an argument', { command: ['x', 'a\0b'] }, [['/command/1', 'must not contain a NUL character']]],
  ['a lone surrogate', { command: ['x\ud800'] }, [['/command/0', 'must be well-formed Unicode']]],
  [
    'a long argument',
    { command: ['x', 'a'.repeat(131_072)] },
    [
      ['/command/1', '<=131071 characters'],
      ['/command/1', 'is 131072 bytes; at most 131071 are allowed'],
    ],
  ],
  [
    'an argument long only in bytes',
    { command: ['x', 'é'.repeat(70_000)] },
    [['/command/1', 'is 140000 bytes; at most 131071 are allowed']],
  ],
  [
    'a long command',
    { command: Array.from({ length: 9 }, () => 'a'.repeat(131_000)) },
    [['/command', 'is 1179009 bytes; at most 1048576 are allowed']],
  ],
  [
    'unknown field',
    { ...ok, comand: ['x'] },
    [['/comand', 'unknown field "comand"; did you mean "command"?']],
  ],
  ['unknown field far from any', { ...ok, quux: 1 }, [['/quux', 'unknown field "quux"']]],
  [
    'unknown field inside',
    { ...ok, groups: [{ task: 2 }] },
    [['/groups/0/task', 'unknown field "task"; did you mean "tasks"?']],
  ],
  [
    'unknown field in a union',
    { ...ok, resources: { accelerators: [{ count: 1, modle: 'x' }] } },
    [['/resources/accelerators/0/modle', 'did you mean "model"?']],
  ],
  ['a field with / and ~', { ...ok, 'a/~b': 1 }, [['/a~1~0b', 'unknown field "a/~b"']]],
  ['__proto__', json('{"command":["true"],"__proto__":{"x":1}}'), [['/__proto__', 'unknown field']]],
  [
    'constructor',
    json('{"command":["true"],"constructor":{"prototype":{}}}'),
    [['/constructor', 'unknown field']],
  ],
  [
    '__proto__ inside',
    json('{"command":["true"],"retry":{"__proto__":1}}'),
    [['/retry/__proto__', 'unknown field']],
  ],
  [
    '__proto__ as variable',
    json('{"command":["true"],"env":{"__proto__":"x"}}'),
    [['/env/__proto__', 'is not allowed as a name']],
  ],
  [
    '__proto__ as variable of a group',
    json('{"command":["true"],"groups":[{},{"name":"b","env":{"__proto__":"x"}}]}'),
    [['/groups/1/env/__proto__', 'is not allowed as a name']],
  ],
  [
    '__proto__ as label',
    json('{"command":["true"],"labels":{"__proto__":"x"}}'),
    [['/labels/__proto__', 'is not allowed as a name']],
  ],
  ...([
    '',
    'a'.repeat(300),
    '../x',
    'a/b',
    '%x',
    'a\nb',
    'a"b',
    'a`b',
    '$(id)',
    '-a',
    '😀',
    'a\u200f',
    'аb',
    'A',
  ].map(
    (name) =>
      [`the name ${JSON.stringify(name).slice(0, 20)}`, { ...ok, name }, [['/name', nameMessage]]] as const,
  ) as [string, unknown, [string, string][]][]),
  ['a project with an empty part', { ...ok, project: 'a//b' }, [['/project', 'must be names joined by "/"']]],
  ['-1 devices', count(-1), [['/resources/accelerators/count', thousandths]]],
  ['0 devices', count(0), [['/resources/accelerators/count', thousandths]]],
  ['-0 devices', count(-0), [['/resources/accelerators/count', thousandths]]],
  ['1.5 devices', count(1.5), [['/resources/accelerators/count', thousandths]]],
  ['2^31 devices', count(2 ** 31), [['/resources/accelerators/count', thousandths]]],
  ['2^53+1 devices', count(json('9007199254740993')), [['/resources/accelerators/count', thousandths]]],
  ['1e309 devices', count(json('1e309')), [['/resources/accelerators/count', 'not Infinity']]],
  ['NaN devices', count(Number.NaN), [['/resources/accelerators/count', 'not NaN']]],
  ['"8" devices', count('8'), [['/resources/accelerators/count', `${thousandths}, not a text`]]],
  ['a ten-thousandth of a device', count(0.0001), [['/resources/accelerators/count', thousandths]]],
  ['almost a thousandth', count(0.0010000001), [['/resources/accelerators/count', thousandths]]],
  [
    'an accelerator as text',
    { ...ok, resources: { accelerators: 'H100:8' } },
    [['/resources/accelerators', 'must be a mapping of fields, not a text']],
  ],
  ['no alternatives', { ...ok, resources: { accelerators: [] } }, [['/resources/accelerators', '>=1 items']]],
  [
    'cores beyond thousandths',
    { ...ok, resources: { cpus: 4.0001 } },
    [['/resources/cpus', 'must be in thousandths of a core']],
  ],
  [
    'cores rounded by a hair',
    { ...ok, resources: { cpus: 4.0000001 } },
    [['/resources/cpus', 'must be in thousandths of a core']],
  ],
  [
    'no cores',
    { ...ok, resources: { cpus: 0 } },
    [['/resources/cpus', 'must be a number from 0.001 to 100000']],
  ],
  ['memory as number', { ...ok, resources: { memory: 16 } }, [['/resources/memory', 'must be a text, not ']]],
  [
    'memory without unit',
    { ...ok, resources: { memory: '16' } },
    [['/resources/memory', '"16" is ambiguous; write the unit in full, for example "16GiB"']],
  ],
  ['memory in GB', { ...ok, resources: { memory: '16GB' } }, [['/resources/memory', 'is ambiguous']]],
  [
    'no memory',
    { ...ok, resources: { memory: '0MiB' } },
    [['/resources/memory', '"0MiB" is out of range; allowed is 1MiB to 1024PiB']],
  ],
  // The range is named whole, whichever end of it was missed.
  ...[-1, 0, -0, 1.5, 100_001, 2 ** 31, json('9007199254740993'), json('1e309'), '8', null, true].map(
    (tasks): Refused => [
      `tasks ${JSON.stringify(tasks)}`,
      { ...ok, tasks },
      [['/tasks', 'must be a whole number from 1 to 100000, not ']],
    ],
  ),
  [
    'too many tasks together',
    {
      ...ok,
      groups: [
        { name: 'a', tasks: 60_000 },
        { name: 'b', tasks: 60_000 },
      ],
    },
    [['/groups', 'has 120000 tasks together; at most 100000 are allowed']],
  ],
  [
    'min above max',
    { ...ok, tasks: { min: 4, max: 2 } },
    [
      ['/tasks/min', 'min must not be above max'],
      ['/tasks/max', 'min must not be above max'],
    ],
  ],
  [
    'min without max',
    { ...ok, tasks: { min: 4 } },
    [['/tasks/max', 'is missing; it must be a whole number from 1 to 100000']],
  ],
  [
    'tasks beside groups',
    { ...ok, tasks: 2, groups: [{}] },
    [
      ['/tasks', 'give tasks in each group'],
      ['/groups', 'give tasks in each group'],
    ],
  ],
  [
    'nameless groups',
    { ...ok, groups: [{ name: 'a' }, {}] },
    [['/groups/1/name', 'is required when there are several groups']],
  ],
  [
    'two groups of a name',
    { ...ok, groups: [{ name: 'a' }, { name: 'a' }] },
    [
      ['/groups/0/name', '"a" names two groups'],
      ['/groups/1/name', '"a" names two groups'],
    ],
  ],
  [
    'a group without command',
    { groups: [{ name: 'a', command: ['x'] }, { name: 'b' }] },
    [['/groups/1/command', 'is required']],
  ],
  ['no groups', { ...ok, groups: [] }, [['/groups', '>=1 items']]],
  [
    'priority 2^53+1',
    { ...ok, priority: json('9007199254740993') },
    [['/priority', 'must be a whole number from -1000 to 1000']],
  ],
  ['an unknown kind', { ...ok, kind: 'srvice' }, [['/kind', '"batch"|"service"|"interactive"']]],
  [
    'reserved variables',
    { ...ok, env: { MUSTER_X: '', SLURM_JOB_ID: '1', SBATCH_Y: '' } },
    [
      ['/env/MUSTER_X', reserved],
      ['/env/SLURM_JOB_ID', reserved],
      ['/env/SBATCH_Y', reserved],
    ],
  ],
  [
    'a reserved variable of a group',
    { ...ok, groups: [{ env: { MUSTER_RANK: '0' } }] },
    [['/groups/0/env/MUSTER_RANK', reserved]],
  ],
  [
    'a variable that is no name',
    { ...ok, env: { 'A=B': 'x' } },
    [['/env/A=B', 'must be letters, digits and underscores, not starting with a digit']],
  ],
  ['NUL in a variable', { ...ok, env: { A: 'x\0' } }, [['/env/A', 'must not contain a NUL character']]],
  [
    'a lone surrogate in a variable',
    { ...ok, env: { A: '\udc00' } },
    [['/env/A', 'must be well-formed Unicode']],
  ],
  ['a number in env', { ...ok, env: { A: 1 } }, [['/env/A', 'must be a text, not ']]],
  [
    '2 MB of variables',
    { ...ok, env: Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`V${i}`, 'x'.repeat(1000)])) },
    [['/env', 'at most 131072 are allowed']],
  ],
  [
    'variables large only in bytes',
    { ...ok, env: { A: '語'.repeat(50_000) } },
    [['/env', 'is 150003 bytes; at most 131072 are allowed']],
  ],
  ['a relative workdir', { ...ok, workdir: 'data' }, [['/workdir', 'must be an absolute path']]],
  ['an empty image', { ...ok, image: { ref: '' } }, [['/image/ref', '>=1 characters']]],
  [
    'a rule with two conditions',
    { ...ok, constraints: [{ label: 'a', in: ['b'], exists: true }] },
    [
      ['/constraints/0/in', 'must have exactly one of in, notIn, exists'],
      ['/constraints/0/exists', 'must have exactly one of in, notIn, exists'],
    ],
  ],
  [
    'a rule with none',
    { ...ok, constraints: [{ label: 'a' }] },
    [['/constraints/0', 'must have exactly one of in, notIn, exists']],
  ],
  [
    'two clusters pinned',
    {
      ...ok,
      constraints: [
        { label: 'cluster', in: ['east'] },
        { label: 'zone', exists: true },
        { label: 'cluster', in: ['west'] },
      ],
    },
    [
      ['/constraints/0', 'they contradict each other about "cluster"'],
      ['/constraints/2', 'no node can meet /constraints/0 and /constraints/2'],
    ],
  ],
  [
    'CRLF in a script for a shell',
    { command: ['bash', '-euc', 'cd /data\necho a\r\n'] },
    [['/command/2', 'line 2 ends with CRLF']],
  ],
  ['a bad label name', { ...ok, labels: { 'a b': 'c' } }, [['/labels/a b', 'must be a label name']]],
  ['a bad label value', { ...ok, labels: { a: 'b c' } }, [['/labels/a', 'must be a label value']]],
  [
    '65 labels',
    { ...ok, labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`l${i}`, 'x'])) },
    [['/labels', 'at most 64 labels']],
  ],
  [
    'a time limit without unit',
    { ...ok, timeLimit: '90' },
    [['/timeLimit', 'name the unit, for example "90s" or "90m"']],
  ],
  [
    'a time limit of nothing',
    { ...ok, timeLimit: '0s' },
    [['/timeLimit', '"0s" is out of range; allowed is 1s to 365d']],
  ],
  ['a time limit as number', { ...ok, timeLimit: 90 }, [['/timeLimit', 'must be a text, not ']]],
  [
    'a short stopAfter',
    { ...ok, stopAfter: '5s' },
    [['/stopAfter', '"5s" is out of range; allowed is 10s to 7d, or never']],
  ],
  ['a strange stopAfter', { ...ok, stopAfter: 'soon' }, [['/stopAfter', '"soon" is not a duration']]],
  ['a strange signal', { ...ok, stop: { signal: 'SIGTERM' } }, [['/stop/signal', '"TERM"|"INT"']]],
  ['a long grace', { ...ok, stop: { grace: '2h' } }, [['/stop/grace', 'allowed is 0s to 1h']]],
  [
    'a day that does not exist',
    { ...ok, deadline: '2026-02-30T00:00:00Z' },
    [['/deadline', 'names a day or time that does not exist']],
  ],
  [
    'a deadline in epoch seconds',
    { ...ok, deadline: '1763200000' },
    [['/deadline', 'write RFC 3339 with a zone']],
  ],
  [
    'two wrong things',
    { ...ok, name: 'A', priority: 5000 },
    [
      ['/name', nameMessage],
      ['/priority', 'must be a whole number from -1000 to 1000, not 5000'],
    ],
  ],
  [
    'several unsupported fields',
    { ...ok, kind: 'service', secrets: {} },
    [
      ['/kind', 'only batch jobs run today'],
      ['/secrets', 'secrets are not supported yet'],
    ],
  ],
];

describe('bad input', () => {
  test.each(refused)('%s is refused with its path', (_, input, expected) => {
    const parsed = parse(input);
    if (parsed.ok) throw new Error('accepted');
    expect(parsed.problems.map((problem) => problem.path)).toEqual(expected.map(([path]) => path));
    for (const [i, [, message]] of expected.entries()) expect(parsed.problems[i]?.message).toContain(message);
    for (const problem of parsed.problems) {
      expect((problem.value ?? '').length).toBeLessThanOrEqual(80);
      expect(problem.message.length).toBeLessThan(300);
    }
  });

  test('says the offending value, clipped', () => {
    const values = (input: unknown) => {
      const parsed = parse(input);
      return parsed.ok ? [] : parsed.problems.map((problem) => problem.value);
    };
    expect(values({ ...ok, tasks: '8' })).toEqual(['"8"']);
    expect(values({ ...ok, name: 'A'.repeat(500) })).toEqual([`"${'A'.repeat(77)}…"`]);
    expect(values(count(json('1e309')))).toEqual(['Infinity']);
    // Escapes do not make it longer, nor does what YAML calls a number.
    for (const name of ['"'.repeat(300), '\n'.repeat(300), '\u0001'.repeat(300)])
      expect(values({ ...ok, name })[0]?.length).toBe(80);
    expect(values({ ...ok, priority: 10n ** 1000n })[0]?.length).toBe(80);
    // Also of what only shows when fields are seen together, or is not supported.
    expect(values({ ...ok, groups: [{ name: 'a' }, { name: 'a' }] })).toEqual(['"a"', '"a"']);
    expect(values({ ...ok, kind: 'service' })).toEqual(['"service"']);
  });

  test('in its thousands gives a short answer soon', { timeout }, () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`field${i}`, i]));
    const parsed = parse({ ...ok, ...many });
    expect(parsed.ok ? 0 : parsed.problems.length).toBe(50);
    const words = parse({ command: Array.from({ length: 4096 }, () => '\0') });
    expect(words.ok ? 0 : words.problems.length).toBe(50);
  });

  test('that YAML can say and JSON cannot is refused like any other', () => {
    const circle: Record<string, unknown> = { ...ok };
    circle.env = circle;
    expect(parse(circle)).toMatchObject({
      ok: false,
      problems: [
        { path: '/env/command', value: '["true"]' },
        { path: '/env/env', value: '{...}' },
      ],
    });
    expect(parse({ ...ok, priority: 10n })).toMatchObject({
      ok: false,
      problems: [{ path: '/priority', value: '10' }],
    });
    expect(parse({ ...ok, timeLimit: new Date(0) })).toMatchObject({
      ok: false,
      problems: [{ path: '/timeLimit' }],
    });
  });

  test('changes no prototype', () => {
    parse(json('{"command":["true"],"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('of any kind is an answer and never a crash', { timeout }, () => {
    const near = fc.record(
      Object.fromEntries(Object.keys(jobSpecSchema.shape).map((key) => [key, fc.anything({ maxDepth: 3 })])),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything({ withNullPrototype: true }), near), (input) => {
        const parsed = parse(input);
        if (parsed.ok) return;
        expect(parsed.problems.length).toBeGreaterThan(0);
        expect(parsed.problems.every((problem) => problem.path === '' || problem.path.startsWith('/'))).toBe(
          true,
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('the generated fast path', () => {
  // Strict: a schema that no longer compiles would silently fall back to the slow path.
  const fast = z.compile(jobSpecSchema, { strict: true });
  const agrees = (input: unknown) => {
    const [quick, plain] = [fast.safeParse(input), jobSpecSchema.safeParse(input)];
    expect(quick.data).toEqual(plain.data);
    expect(quick.error?.issues).toEqual(plain.error?.issues);
  };

  test.each(refused)('agrees with the schema about %s', (_, input) => agrees(input));

  test('agrees with the schema about jobs that are good, or nearly', { timeout }, () => {
    const size = fc.constantFrom('1GiB', '512MiB', '10', '0.1GiB');
    const gpu = fc.record(
      { model: fc.constantFrom('H100', 'a b'), count: fc.constantFrom(1, 8, 0.5, 1.5), memory: size },
      { requiredKeys: ['count'] },
    );
    const resources = fc.record(
      {
        cpus: fc.constantFrom(1, 0.5, 0),
        memory: size,
        accelerators: fc.oneof(gpu, fc.array(gpu, { maxLength: 3 })),
      },
      { requiredKeys: [] },
    );
    const env = fc.dictionary(fc.constantFrom('A', 'B', 'MUSTER_X', '1'), fc.constantFrom('', 'x', 'a\0'));
    const tasks = fc.oneof(fc.constantFrom(0, 1, 8), fc.record({ min: fc.nat(4), max: fc.nat(4) }));
    const command = fc.array(fc.constantFrom('python', '', 'é'), { maxLength: 3 });
    const group = fc.record(
      { name: fc.constantFrom('a', 'b', 'B'), tasks, command, env, resources },
      { requiredKeys: [] },
    );
    const job = fc.record(
      {
        name: fc.constantFrom('a', 'A'),
        command,
        env,
        tasks,
        resources,
        groups: fc.array(group, { maxLength: 3 }),
        timeLimit: fc.constantFrom('1h', '0s', '90'),
        stopAfter: fc.constantFrom('never', '25s', '1s'),
        stop: fc.record(
          { grace: fc.constantFrom('5s', '2h'), signal: fc.constantFrom('TERM', 'X') },
          { requiredKeys: [] },
        ),
        labels: fc.dictionary(fc.constantFrom('a', 'b c'), fc.constantFrom('x', '-')),
        constraints: fc.array(
          fc.record(
            { label: fc.constantFrom('zone', '-'), in: fc.constant(['a']), exists: fc.boolean() },
            { requiredKeys: ['label'] },
          ),
          { maxLength: 2 },
        ),
        exclusive: fc.boolean(),
      },
      { requiredKeys: ['command'] },
    );
    fc.assert(fc.property(job, agrees), { numRuns: 300 });
  });
});

describe('the problems of another body', () => {
  const body = z.strictObject({ items: z.array(z.strictObject({ role: z.string() })) });
  test('suggest its own fields, not those of a job', () => {
    const input = { items: [{ role: 'x', rol: 1 }], item: 1 };
    const parsed = body.safeParse(input);
    const problems = parsed.success ? [] : fieldProblems(parsed.error, input, body);
    expect(problems.map(({ path, message }) => [path, message])).toEqual([
      ['/items/0/rol', 'unknown field "rol"; did you mean "role"?'],
      ['/item', 'unknown field "item"; did you mean "items"?'],
    ]);
  });

  test('know the names at a path', () => {
    expect(knownKeys(['items', 0], body)).toEqual(['role']);
    expect(knownKeys(['resources', 'accelerators', 0])).toContain('model');
  });
});
