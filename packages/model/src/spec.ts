// The job spec as people write it, in full shape: the schema is the single description of every field, its limits
// and its default, and the JSON Schema for editors is made from it. Fields no part honours yet are refused from the
// table in unsupported.ts, never dropped. Parsing happens in parse-spec.ts.
//
// Limits of the operating system show here: Linux refuses to start a program when one argument or one variable has
// more than 128 KiB (MAX_ARG_STRLEN), or all of them together more than a quarter of the stack limit (2 MiB).
import * as z from 'zod';
import { parseInstantMs } from './instant.ts';
import {
  isAcceleratorModel,
  isEnvName,
  isLabelKey,
  isLabelValue,
  isName,
  isProjectPath,
  namePatterns,
  nameRule,
  projectRule,
} from './names.ts';
import { crlfLine, inlineScript } from './shell-script.ts';
import type { Parsed } from './units.ts';
import { clip, parseDurationMs, parseSizeMib } from './units.ts';

/** Of a group, and of all groups together. */
export const maxTasks = 100_000;
const maxEnvBytes = 128 * 1024;
const maxArgBytes = 128 * 1024 - 1;
const maxCommandBytes = 1024 * 1024;

/** A text in one of our grammars, parsed to a number while the schema runs. */
function grammar<T extends number | 'never'>(
  parse: (text: string) => Parsed<T>,
  description: string,
  forEditors: { readonly pattern?: string; readonly format?: string; readonly examples?: readonly string[] },
) {
  return z
    .string()
    .max(200)
    .transform((text, context) => {
      const parsed = parse(text);
      if (parsed.ok) return parsed.value;
      context.addIssue({ code: 'custom', message: parsed.message });
      return z.NEVER;
    })
    .meta({ description, ...forEditors });
}

const durationText = { pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$', examples: ['90s', '1h30m'] };
const sizeText = { pattern: '^[0-9]+(\\.[0-9]+)? ?(MiB|GiB|TiB|PiB)$', examples: ['64GiB'] };

function within(parse: (text: string) => Parsed<number>, min: number, max: number, range: string) {
  return (text: string): Parsed<number> => {
    const parsed = parse(text);
    return parsed.ok && (parsed.value < min || parsed.value > max)
      ? { ok: false, message: `"${clip(text)}" is out of range; allowed is ${range}` }
      : parsed;
  };
}

const noNul = (text: string): boolean => !text.includes('\0');
const wellFormed = (text: string): boolean => text.isWellFormed();
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine(noNul, 'must not contain a NUL character')
    .refine(wellFormed, 'must be well-formed Unicode');

/** Bytes of a well-formed text in UTF-8, which is what the kernel counts. */
function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Each half of a surrogate pair counts 2, together the 4 bytes they take.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1;
  }
  return bytes;
}

/** In thousandths, exactly: what has more digits would be rounded without a word. */
const inThousandths = (n: number): boolean => Math.round(n * 1000) / 1000 === n;

const name = z.string().refine(isName, `must be ${nameRule}`).meta({ pattern: namePatterns.name });
const labelKey = z
  .string()
  .refine(isLabelKey, 'must be a label name')
  .meta({ pattern: namePatterns.labelKey });
const labelValue = z
  .string()
  .refine(isLabelValue, 'must be a label value')
  .meta({ pattern: namePatterns.labelValue });
const duration = (min: number, max: number, description: string, range: string) =>
  grammar(within(parseDurationMs, min, max, range), `${description}; ${range}`, durationText);
const parseSize = within(parseSizeMib, 1, 2 ** 40, '1MiB to 1024PiB');
const size = (description: string) => grammar(parseSize, description, sizeText);

const day = 86_400_000;
const parseStopAfter = within(parseDurationMs, 10_000, 7 * day, '10s to 7d, or never');
const signal = z.enum(['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2', 'KILL']);

/** Devices are whole, or a part of one device in thousandths. */
const deviceRule =
  'must be a whole number from 1 to 4096, or a part of one device in thousandths (0.001 to 0.999)';
const deviceCount = z
  .number({ error: deviceRule })
  .refine((n) => (n >= 1 ? Number.isInteger(n) && n <= 4096 : n > 0 && inThousandths(n)), {
    message: deviceRule,
  });

const cores = z
  .number()
  .min(0.001)
  .max(100_000)
  .refine(inThousandths, { message: 'must be in thousandths of a core' });

const accelerator = z.strictObject({
  kind: name.default('gpu').meta({ description: 'gpu, tpu or another kind the fleet has' }),
  model: z
    .string()
    .refine(isAcceleratorModel, 'must be a model name such as H100')
    .meta({ pattern: namePatterns.model })
    .optional()
    .meta({ description: 'for example H100; any model when left out' }),
  count: deviceCount.meta({ description: 'devices for each task' }),
  memory: size('least memory of one device').optional(),
  interconnect: name
    .optional()
    .meta({ description: 'required link between the devices, for example nvlink' }),
  generation: z.int().min(0).max(1000).optional().meta({ description: 'least hardware generation' }),
  speed: z
    .number()
    .min(0.001)
    .max(1000)
    .refine(inThousandths, { message: 'must be in thousandths' })
    .optional()
    .meta({ description: 'speed relative to the first alternative' }),
});

const resources = z.strictObject({
  cpus: cores.optional().meta({
    description:
      'cores for each task; when left out, the share of the node that belongs to its devices, or 1',
  }),
  memory: size(
    'memory for each task; when left out, the share of the node that belongs to its devices or cores',
  ).optional(),
  accelerators: z
    .union([accelerator, z.array(accelerator).min(1).max(8)])
    .optional()
    .meta({
      description: 'one request, or alternatives; the cheapest by price and speed that fits is taken',
    }),
});

const env = z.record(z.string(), text(maxEnvBytes)).superRefine((record, context) => {
  let bytes = 0;
  for (const [key, value] of Object.entries(record)) {
    bytes += utf8Bytes(key) + utf8Bytes(value) + 2;
    const path = [key];
    if (!isEnvName(key))
      context.addIssue({
        code: 'custom',
        path,
        message: 'must be letters, digits and underscores, not starting with a digit',
      });
    if (/^(MUSTER|SLURM|SBATCH)_/.test(key))
      context.addIssue({
        code: 'custom',
        path,
        message: 'is reserved: MUSTER_*, SLURM_* and SBATCH_* are set by Muster',
      });
  }
  if (bytes > maxEnvBytes)
    context.addIssue({ code: 'custom', message: `is ${bytes} bytes; at most ${maxEnvBytes} are allowed` });
});

const command = z
  .array(text(maxArgBytes))
  .min(1)
  .max(4096)
  .superRefine((words, context) => {
    if (words[0] === '') context.addIssue({ code: 'custom', message: 'must start with a program' });
    const script = inlineScript(words);
    const crlf = script === null ? null : crlfLine(words[script] ?? '');
    if (script !== null && crlf !== null)
      context.addIssue({
        code: 'custom',
        path: [script],
        message: `line ${crlf} ends with CRLF, and a shell takes the CR for a part of the command; end lines with LF alone`,
      });
    let total = 0;
    for (const [i, word] of words.entries()) {
      const bytes = utf8Bytes(word);
      total += bytes + 1;
      if (bytes > maxArgBytes)
        context.addIssue({
          code: 'custom',
          path: [i],
          message: `is ${bytes} bytes; at most ${maxArgBytes} are allowed`,
        });
    }
    if (total > maxCommandBytes)
      context.addIssue({
        code: 'custom',
        message: `is ${total} bytes; at most ${maxCommandBytes} are allowed`,
      });
  });

const taskCount = z.union([
  z.int().min(1).max(maxTasks),
  z
    .strictObject({ min: z.int().min(1).max(maxTasks), max: z.int().min(1).max(maxTasks) })
    .superRefine((range, context) => {
      if (range.min <= range.max) return;
      for (const path of [['min'], ['max']])
        context.addIssue({ code: 'custom', path, message: 'min must not be above max' });
    }),
]);

const topology = z.strictObject({
  level: name.meta({ description: 'a level of the topology tree, for example rack, or node' }),
  mode: z.enum(['required', 'preferred', 'spread']).meta({
    description: 'all in one place, in the narrowest place that holds all, or evenly over places',
  }),
});

const group = z.strictObject({
  name: name.optional().meta({ description: 'required when there are several groups' }),
  tasks: taskCount
    .default(1)
    .meta({ description: 'how many identical tasks, or {min, max} for an elastic group' }),
  command: command.optional().meta({ description: "this group's command; the job's when left out" }),
  env: env.optional().meta({ description: "added to the job's, and wins over it" }),
  resources: resources
    .optional()
    .meta({ description: "what each task of this group needs; what is left out comes from the job's" }),
  topology: topology.optional().meta({
    description: "where the group's tasks are relative to each other, beside the job's own topology",
  }),
  near: z
    .strictObject({
      group: name.meta({ description: 'another group of this job' }),
      level: name.meta({ description: 'a level of the topology tree, for example rack, or node' }),
    })
    .optional()
    .meta({ description: 'only in places of that level where the other group has tasks' }),
});

const labelRule = z
  .strictObject({
    label: labelKey.meta({
      pattern: namePatterns.labelKey,
      description: 'a node label, or cluster, pool, node, region, zone',
    }),
    in: z.array(labelValue).min(1).max(64).optional().meta({ description: 'the values it may have' }),
    notIn: z.array(labelValue).min(1).max(64).optional().meta({ description: 'the values it must not have' }),
    exists: z.boolean().optional().meta({ description: 'whether a node must have the label' }),
  })
  .superRefine((rule, context) => {
    const given = (['in', 'notIn', 'exists'] as const).filter((part) => rule[part] !== undefined);
    if (given.length === 1) return;
    // Several contradict each other, and each is told; none is told of the rule.
    for (const path of given.length === 0 ? [[]] : given.map((part) => [part]))
      context.addIssue({ code: 'custom', path, message: 'must have exactly one of in, notIn, exists' });
  });

const preference = z.strictObject({
  ...labelRule.shape,
  weight: z.int().min(1).max(1000).meta({ description: 'against the other preferences' }),
});

const dataPart = z
  .strictObject({
    region: labelValue
      .optional()
      .meta({ pattern: namePatterns.labelValue, description: 'the region where it is' }),
    cluster: name.optional().meta({ pattern: namePatterns.name, description: 'the cluster where it is' }),
    size: size('how much of it the job reads'),
  })
  .superRefine((part, context) => {
    const given = (['region', 'cluster'] as const).filter((where) => part[where] !== undefined);
    if (given.length === 1) return;
    for (const path of given.length === 0 ? [[]] : given.map((where) => [where]))
      context.addIssue({ code: 'custom', path, message: 'must have exactly one of region, cluster' });
  });

/** Shared with the other documents people write. */
export { duration as durationField, grammar as grammarField };

export const jobSpecSchema = z.strictObject({
  name: name.optional().meta({ description: 'a short name; "job" when left out' }),
  title: text(200).optional().meta({ description: 'free text for people' }),
  project: z
    .string()
    .refine(isProjectPath, `must be ${projectRule}`)
    .meta({ pattern: namePatterns.project })
    .optional()
    .meta({ description: 'the project that pays; the default project of your token when left out' }),
  kind: z
    .enum(['batch', 'service', 'interactive'])
    .default('batch')
    .meta({ description: 'batch jobs end by themselves; services and sessions come later' }),
  tier: name.optional().meta({ description: "service class; the policy's default tier when left out" }),
  priority: z
    .int()
    .min(-1000)
    .max(1000)
    .default(0)
    .meta({ description: 'order inside the tier; higher first' }),
  command: command.optional().meta({
    description: 'the program and its arguments; no shell is involved. Required unless every group has one',
  }),
  env: env.optional().meta({
    description: 'variables for every task; MUSTER_*, SLURM_* and SBATCH_* are reserved; 128 KiB in all',
  }),
  secrets: z
    .record(z.string().refine(isEnvName, 'must be a variable name'), z.strictObject({ ref: name }))
    .optional()
    .meta({ description: 'variables whose values Muster keeps' }),
  image: z
    .strictObject({
      ref: text(500).min(1).meta({ description: 'container image' }),
      use: z
        .enum(['required', 'where-supported'])
        .default('required')
        .meta({ description: 'where-supported runs a plain process on clusters without containers' }),
    })
    .optional(),
  workdir: text(4096)
    .refine((path) => path.startsWith('/'), 'must be an absolute path')
    .optional()
    .meta({ description: 'working directory on the node; a scratch directory when left out' }),
  tasks: taskCount.optional().meta({ description: 'tasks of the only group; use groups for several' }),
  resources: resources
    .optional()
    .meta({ description: 'what each task needs; groups may say it for themselves' }),
  groups: z
    .array(group)
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'several kinds of tasks that start together or not at all' }),
  constraints: z
    .array(labelRule)
    .max(32)
    .default([])
    .meta({ description: 'what the labels of every node used must say' }),
  preferences: z
    .array(preference)
    .max(32)
    .default([])
    .meta({ description: 'constraints one can do without; what is not met counts as a cost' }),
  topology: topology.optional().meta({ description: 'how near to each other the tasks must be' }),
  exclusive: z.boolean().default(false).meta({ description: 'no other job on the same nodes' }),
  retry: z
    .strictObject({
      user: z
        .int()
        .min(0)
        .max(100)
        .default(0)
        .meta({ description: 'retries after the command itself failed' }),
      outOfMemory: z
        .int()
        .min(0)
        .max(100)
        .default(0)
        .meta({ description: 'retries after a task was killed for memory' }),
      infrastructure: z
        .int()
        .min(0)
        .max(100)
        .default(5)
        .meta({ description: 'retries after a node, agent or network failed; preemption is never counted' }),
    })
    .prefault({}),
  timeLimit: duration(1000, 365 * day, 'the run is stopped after this long', '1s to 365d').optional(),
  stop: z
    .strictObject({
      signal: signal.default('TERM').meta({ description: 'sent first when the run must stop' }),
      grace: duration(0, 3_600_000, 'from the signal to SIGKILL', '0s to 1h').prefault('30s'),
    })
    .prefault({}),
  stopAfter: grammar<number | 'never'>(
    (text) => (text === 'never' ? { ok: true, value: 'never' as const } : parseStopAfter(text)),
    'how long a run may live without hearing from the control plane; 10s to 7d, or never; as the tier says when left out',
    { pattern: '^(never|([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+)$', examples: ['5m', 'never'] },
  ).optional(),
  checkpoint: z
    .strictObject({
      signal: signal.optional().meta({ description: 'asks the job for a checkpoint' }),
      wait: duration(0, 3_600_000, 'how long to wait for a newer checkpoint', '0s to 1h').prefault('60s'),
      restore: duration(
        0,
        day,
        'what it takes to go on from a checkpoint; counts when victims are chosen',
        '0s to 1d',
      ).optional(),
      fenced: z.literal(true).optional().meta({
        description:
          'all that it writes goes to a store that refuses older attempts; where the operator says that too, it need not wait for the proof that a run in a lost cluster is over',
      }),
    })
    .optional(),
  data: z.array(dataPart).min(1).max(32).optional().meta({
    description:
      'what it reads and where that is; bringing it elsewhere costs what the policy says, and counts in the choice of a place',
  }),
  dependencies: z
    .array(
      z.strictObject({
        job: z.string().max(64).meta({ description: 'id of the job to wait for' }),
        when: z
          .enum(['succeeded', 'failed', 'ended'])
          .default('succeeded')
          .meta({ description: 'how it must have ended' }),
      }),
    )
    .max(1000)
    .optional(),
  array: z
    .strictObject({
      count: z.int().min(1).max(1_000_000).meta({ description: 'members' }),
      parallel: z.int().min(1).max(1_000_000).optional().meta({ description: 'how many may run at once' }),
    })
    .optional(),
  deadline: grammar(parseInstantMs, 'RFC 3339 time by which the job should have ended', {
    format: 'date-time',
  }).optional(),
  output: z.strictObject({ limit: size('output kept for each task').prefault('64MiB') }).prefault({}),
  labels: z
    .record(labelKey, labelValue)
    .refine((labels) => Object.keys(labels).length <= 64, 'at most 64 labels')
    .optional()
    .meta({ description: 'names and values of your own, for finding jobs; at most 64' }),
});

/** The spec as written, before defaults. */
export type JobSpecInput = z.input<typeof jobSpecSchema>;
/** The spec with defaults filled in and units parsed; what the database keeps. */
export type RawJobSpec = z.output<typeof jobSpecSchema>;
