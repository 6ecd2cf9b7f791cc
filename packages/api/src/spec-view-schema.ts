// The job spec as answers show it: every shorthand written out and every default filled in.
import type {
  AcceleratorDemand,
  ArraySize,
  GroupDemand,
  GroupSpec,
  JobSpecView,
  Preference,
  TopologyDemand,
} from '@muster/model';
import * as z from 'zod';
import { constraintShape } from './engine-view-schemas.ts';
import { durationMs, fields, name, text, textMap, time, whole } from './schema-parts.ts';

const topology = fields<TopologyDemand>({
  level: text,
  mode: z.enum(['required', 'preferred', 'spread']),
}).nullable();

const accelerator = fields<AcceleratorDemand>({
  kind: text,
  model: text.nullable(),
  milli: whole.meta({ description: 'thousandths of a device for each task' }),
  memoryMib: whole.nullable(),
  interconnect: text.nullable(),
  generation: whole.nullable(),
  speedMilli: whole.meta({ description: 'in thousandths of the speed on the first alternative' }),
});

const demand = fields<GroupDemand>({
  name: text,
  tasks: whole,
  cpuMilli: whole.nullable().meta({ description: 'null: a share of the node that a task lands on' }),
  memoryMib: whole.nullable().meta({ description: 'null: a share of the node that a task lands on' }),
  accelerators: z.array(accelerator).meta({ description: 'alternatives, in order of preference' }),
  topology,
  near: z.object({ group: text, level: text }).nullable(),
});

const signal = z.enum(['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2', 'KILL']);

export const specViewSchema = fields<JobSpecView>({
  name: text,
  title: text.nullable(),
  project: text,
  kind: z.literal('batch'),
  tier: text,
  priority: whole,
  groups: z.array(fields<GroupSpec>({ name: text, command: z.array(text), env: textMap, demand })),
  image: z.object({ ref: text, use: z.enum(['required', 'where-supported']) }).nullable(),
  workdir: text.nullable(),
  constraints: z.array(z.object(constraintShape)),
  preferences: z.array(fields<Preference>({ ...constraintShape, weight: z.number() })),
  topology,
  exclusive: z.boolean(),
  retry: z.object({ user: whole, outOfMemory: whole, infrastructure: whole }),
  timeLimitMs: durationMs('how long it may run; null: for ever').nullable(),
  deadline: time.nullable().meta({ description: 'when it should have ended; null when nobody said' }),
  stop: z.object({ signal, graceMs: durationMs('from the signal to the kill') }),
  checkpoint: z
    .object({ signal, waitMs: durationMs('how long to wait for a newer checkpoint') })
    .nullable()
    .meta({ description: 'how to ask for a checkpoint before a preemption; null: it is never asked' }),
  data: z
    .array(z.object({ region: text.optional(), cluster: text.optional(), sizeMib: whole }))
    .optional()
    .meta({ description: 'what it reads, and where that is' }),
  fenced: z
    .literal(true)
    .optional()
    .meta({ description: 'all that it writes goes to a store that refuses older attempts' }),
  restoreMs: durationMs('what it takes to go on from a checkpoint; left out where nobody said').optional(),
  stopAfterMs: durationMs(
    'how long it goes on when its control plane is not heard from; null: for ever',
  ).nullable(),
  outputLimitMib: whole,
  labels: textMap,
  array: fields<ArraySize>({ count: whole, parallel: whole.nullable() })
    .optional()
    .meta({ description: 'left out for a job that is none' }),
}).meta({ description: 'the spec with every default filled in' });
name(specViewSchema, 'CompleteSpec');
