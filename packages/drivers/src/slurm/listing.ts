// What squeue, sinfo and sacct print as JSON (Slurm 22.05, openapi v0.0.38), read strictly: a missing field, another type or a state
// that is not known makes the whole answer unread, and the driver keeps its last good one. Never a guess: a job that was taken
// for over would be started again.
import * as z from 'zod';

const nat = z.int().min(0);

/** `waits` holds nothing yet, `holds` has its nodes, `over` has given them back. */
const phases = {
  PENDING: 'waits',
  CONFIGURING: 'holds',
  RUNNING: 'holds',
  SUSPENDED: 'holds',
  STOPPED: 'holds',
  COMPLETING: 'holds',
  RESIZING: 'holds',
  SIGNALING: 'holds',
  STAGE_OUT: 'holds',
  REQUEUED: 'waits',
  REQUEUE_FED: 'waits',
  REQUEUE_HOLD: 'waits',
  SPECIAL_EXIT: 'waits',
  RESV_DEL_HOLD: 'waits',
  COMPLETED: 'over',
  CANCELLED: 'over',
  FAILED: 'over',
  TIMEOUT: 'over',
  NODE_FAIL: 'over',
  PREEMPTED: 'over',
  BOOT_FAIL: 'over',
  DEADLINE: 'over',
  OUT_OF_MEMORY: 'over',
  REVOKED: 'over',
} as const;

export type JobState = keyof typeof phases;
export type JobPhase = (typeof phases)[JobState];

export interface SlurmJob {
  readonly id: number;
  readonly name: string;
  readonly comment: string;
  readonly state: JobState;
  readonly phase: JobPhase;
  /** Why it waits, in Slurm's word. */
  readonly reason: string;
  readonly submittedS: number;
  /** Before it nothing lets it begin; 0 while that is not known. */
  readonly eligibleS: number;
  /** How many times it was put back into the queue after it had begun. */
  readonly restarts: number;
  /** When it ended, or will at the latest. */
  readonly endS: number;
  /** Of a component of a heterogeneous job, which only Slurm's backfill starts, seldom: the id of the first one, whose the script is. */
  readonly partOf: number | null;
  readonly user: string;
  readonly uses: readonly NodeUse[];
}

/** What a job holds of one node. */
export interface NodeUse {
  readonly node: string;
  readonly cpus: number;
  readonly memoryMib: number;
  /** As Slurm writes it. */
  readonly gres: string;
}

export interface SlurmNode {
  readonly name: string;
  readonly address: string;
  readonly cpus: number;
  readonly memoryMib: number;
  readonly gres: string;
  readonly features: readonly string[];
  readonly partitions: readonly string[];
  /** New jobs may be put there, as far as Slurm is concerned. */
  readonly usable: boolean;
  /** Its controller hears of it. */
  readonly answers: boolean;
  readonly state: string;
  readonly reason: string;
}

const jobState = z.enum(Object.keys(phases) as [JobState, ...JobState[]]);

const jobSchema = z.object({
  job_id: nat,
  name: z.string(),
  comment: z.string(),
  job_state: jobState,
  state_reason: z.string(),
  submit_time: nat,
  eligible_time: nat,
  restart_cnt: nat,
  end_time: nat,
  het_job_id: nat,
  user_name: z.string(),
  gres_detail: z.array(z.string()),
  job_resources: z
    .object({
      allocated_nodes: z
        .array(
          z.object({
            nodename: z.string(),
            memory_allocated: nat,
            sockets: z.record(z.string(), z.object({ cores: z.record(z.string(), z.string()) })),
          }),
        )
        .optional(),
    })
    .optional(),
});

const nodeSchema = z.object({
  name: z.string().min(1),
  address: z.string(),
  cpus: nat,
  real_memory: nat,
  gres: z.string(),
  features: z.string(),
  partitions: z.array(z.string()),
  state: z.enum(['idle', 'mixed', 'allocated', 'down', 'unknown', 'error', 'future', 'invalid']),
  state_flags: z.array(z.string()),
  reason: z.string(),
});

const errors = z.array(z.unknown()).max(0, 'Slurm told of an error');

export function parseJobs(text: string): SlurmJob[] {
  const { jobs } = read('squeue', z.object({ errors, jobs: z.array(jobSchema) }), text);
  return jobs.map((job) => {
    const held = job.job_resources?.allocated_nodes ?? [];
    return {
      id: job.job_id,
      name: job.name,
      comment: job.comment,
      state: job.job_state,
      phase: phases[job.job_state],
      reason: job.state_reason,
      submittedS: job.submit_time,
      eligibleS: job.eligible_time,
      restarts: job.restart_cnt,
      endS: job.end_time,
      partOf: job.het_job_id > 0 ? job.het_job_id : null,
      user: job.user_name,
      uses: held.map(({ nodename, memory_allocated, sockets }, i) => ({
        node: nodename,
        cpus: Object.values(sockets).reduce((sum, { cores }) => sum + Object.keys(cores).length, 0),
        memoryMib: memory_allocated,
        gres: job.gres_detail[i] ?? '',
      })),
    };
  });
}

export function parseNodes(text: string): SlurmNode[] {
  const { nodes } = read('sinfo', z.object({ errors, nodes: z.array(nodeSchema) }), text);
  if (new Set(nodes.map(({ name }) => name)).size !== nodes.length)
    throw new Error('sinfo names a node twice');
  return nodes.map((node) => ({
    name: node.name,
    address: node.address,
    cpus: node.cpus,
    memoryMib: node.real_memory,
    gres: node.gres,
    features: node.features === '' ? [] : node.features.split(','),
    partitions: node.partitions,
    // A flag says more than the state: DRAIN, NOT_RESPONDING, MAINTENANCE, POWERED_DOWN and their like.
    usable: ['idle', 'mixed', 'allocated'].includes(node.state) && node.state_flags.length === 0,
    answers: !node.state_flags.includes('NOT_RESPONDING'),
    state: [node.state, ...node.state_flags].join('+').toLowerCase(),
    reason: node.reason,
  }));
}

/** A job as the accounting knows it. */
export interface AccountedJob {
  readonly id: number;
  readonly name: string;
  /** Empty where the accounting keeps none. */
  readonly comment: string;
  readonly state: JobState;
  readonly phase: JobPhase;
  readonly submittedS: number;
  /** 0 while its end is not written down, whatever its state says. */
  readonly endS: number;
  /** Who asked for its end; null where nobody did, or it is not known. */
  readonly endedBy: string | null;
}

const accountedSchema = z.object({
  job_id: nat,
  name: z.string(),
  state: z.object({ current: jobState }),
  time: z.object({ submission: nat, end: nat }),
  kill_request_user: z.string().nullable(),
  comment: z.object({ job: z.string().nullish() }).optional(),
});

export function parseAccounting(text: string): AccountedJob[] {
  const { jobs } = read('sacct', z.object({ errors, jobs: z.array(accountedSchema) }), text);
  return jobs.map(({ job_id, name, state, time, kill_request_user, comment }) => ({
    id: job_id,
    name,
    comment: comment?.job ?? '',
    state: state.current,
    phase: phases[state.current],
    submittedS: time.submission,
    endS: time.end,
    endedBy: kill_request_user === '' ? null : kill_request_user,
  }));
}

function read<T>(program: string, schema: z.ZodType<T>, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${program} printed no JSON: ${JSON.stringify(text.slice(0, 80))}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`cannot read what ${program} printed: ${issue?.path.join('.')}: ${issue?.message}`);
}
