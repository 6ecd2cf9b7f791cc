import type { RunId } from '@muster/model';
import { describe, expect, test } from 'vitest';
import { type Account, type Accounting, noAccounting } from './accounting.ts';
import { KeyedJobs } from './keyed-jobs.ts';
import type { JobState, SlurmJob } from './listing.ts';
import { nothingKnown, reportsOf } from './reports.ts';
import type { Evidence } from './run-directory.ts';

const run = 'run_000000000000000001_1' as RunId;
const stop = { class: 'preemption', reason: 'its room goes to another job', code: 'stopped' } as const;

const over: readonly JobState[] = [
  'COMPLETED',
  'CANCELLED',
  'FAILED',
  'TIMEOUT',
  'NODE_FAIL',
  'OUT_OF_MEMORY',
];

function job(id: number, state: JobState, more: Partial<SlurmJob> = {}): SlurmJob {
  const phase = over.includes(state) ? 'over' : state === 'PENDING' ? 'waits' : 'holds';
  const key = { name: run as string, comment: `${run} ours` };
  return {
    id,
    ...key,
    state,
    phase,
    reason: 'None',
    submittedS: id,
    eligibleS: id,
    restarts: 0,
    endS: 0,
    partOf: null,
    user: 'root',
    uses: [],
    ...more,
  };
}

function left(more: Partial<Evidence> = {}): Evidence {
  const tasks = [{ rank: 0, node: 'n1', devices: [] }];
  return {
    tasks,
    claim: null,
    started: new Set(),
    exits: new Map(),
    stop: null,
    heard: false,
    again: false,
    ...more,
  };
}

const claimedBy = (id: number | null, more: Partial<Evidence> = {}): Evidence =>
  left({ claim: { job: id }, started: new Set([0]), ...more });
const exited = (code: number | null, stopped = false): Partial<Evidence> => ({
  exits: new Map([[0, { code, stopped }]]),
});

/** What is reported of the one task, in short. */
function told(
  evidence: Evidence,
  jobs: readonly SlurmJob[],
  settled = false,
  accounting: Accounting = noAccounting,
): string {
  const [report] = reportsOf(run, evidence, new KeyedJobs(jobs, 'ours'), {
    ...nothingKnown,
    settled,
    accounting,
  });
  if (!report) return 'nothing';
  const { state, exit } = report;
  if (!exit) return state;
  return exit.ok ? 'ended well' : `${exit.class}: ${exit.reason.message}`;
}

test('a cancel soon after the controller was started, of a job from before or one that never began, is its own', () => {
  const life = { bootS: 1000, slurmdTimeoutMs: 15_000 };
  const code = (submittedS: number, endS: number, evidence = left()) => {
    const [report] = reportsOf(
      run,
      evidence,
      new KeyedJobs([job(5, 'CANCELLED', { submittedS, endS })], 'ours'),
      {
        ...nothingKnown,
        settled: true,
        controller: life,
      },
    );
    return report?.exit?.ok === false ? report.exit.reason.code : null;
  };
  expect(code(990, 1005)).toBe('forgotten');
  expect(code(990, 1076)).toBe('cancelled-in-slurm');
  expect(code(990, 995)).toBe('cancelled-in-slurm');
  expect(code(1001, 1005)).toBe('forgotten');
  expect(code(1001, 1005, claimedBy(5))).toBe('cancelled-in-slurm');
  expect(code(990, 1005, claimedBy(5))).toBe('forgotten');
  expect(code(990, 1005, claimedBy(5, { stop }))).toBe('stopped');
});

test('a step of which srun has no code is no success: its node failed, or it was being stopped', () => {
  expect(told(claimedBy(5, exited(null)), [job(5, 'RUNNING')])).toBe(
    'infrastructure: the node of the task failed',
  );
  expect(told(claimedBy(5, { ...exited(null, true), stop }), [job(5, 'RUNNING')])).toBe(
    `preemption: ${stop.reason}`,
  );
});

describe('before anybody claimed the key', () => {
  test('what Slurm does not list may be submitted', () => {
    expect(told(left(), [])).toBe('nothing');
    expect(told(left(), [], true)).toBe('nothing');
  });

  test('a job that has only the id, or only the name, is not ours', () => {
    expect(told(left(), [job(5, 'RUNNING', { name: 'other', comment: 'other' })])).toBe('nothing');
    expect(told(left(), [job(5, 'RUNNING', { comment: '' })])).toBe('nothing');
  });

  test('a job that waits or begins is accepted, whatever an older one of its name came to', () => {
    expect(told(left(), [job(5, 'PENDING')])).toBe('accepted');
    expect(told(left(), [job(6, 'CANCELLED'), job(5, 'RUNNING')])).toBe('accepted');
  });

  test('a job that was cancelled by hand is cancelled, not submitted again', () => {
    expect(told(left(), [job(5, 'CANCELLED')])).toBe('cancelled: cancelled in Slurm, not through Muster');
  });
});

describe('of the job that has the key', () => {
  test('another job that took its id tells nothing', () => {
    expect(told(claimedBy(5), [job(5, 'COMPLETED', { name: 'x', comment: 'x' })])).toBe('running');
  });

  test('a duplicate that ended at the claim tells nothing', () => {
    expect(told(claimedBy(5), [job(5, 'RUNNING'), job(6, 'COMPLETED')])).toBe('running');
  });

  test('its exit is what the script saw', () => {
    expect(told(claimedBy(5, exited(0)), [job(5, 'RUNNING')])).toBe('ended well');
    expect(told(claimedBy(5, exited(3)), [])).toBe('user: exited with code 3');
    expect(told(claimedBy(5, exited(139)), [job(5, 'RUNNING')])).toBe('user: killed by SIGSEGV');
    expect(told(claimedBy(5, { ...exited(1), started: new Set() }), [])).toBe(
      'infrastructure: srun could not start the step (code 1)',
    );
  });

  test('a signal is explained by what Slurm did to the job', () => {
    expect(told(claimedBy(5, exited(143)), [job(5, 'COMPLETING')])).toBe('running');
    expect(told(claimedBy(5, exited(143)), [job(5, 'TIMEOUT')])).toBe('timeout: time limit reached');
    expect(told(claimedBy(5, exited(137)), [job(5, 'OUT_OF_MEMORY')])).toBe(
      'out-of-memory: ran out of memory',
    );
  });

  test('what ended after our stop has the class of the stop', () => {
    expect(told(claimedBy(5, { ...exited(0, true), stop }), [])).toBe(`preemption: ${stop.reason}`);
    expect(told(claimedBy(5, { ...exited(0, false), stop }), [])).toBe('ended well');
  });

  test('where the script was ended with the job, Slurm tells why', () => {
    expect(told(claimedBy(5), [job(5, 'NODE_FAIL')])).toBe('infrastructure: a node of the job failed');
    expect(told(claimedBy(5, { stop }), [job(5, 'CANCELLED')])).toBe(`preemption: ${stop.reason}`);
    expect(told(claimedBy(5), [job(5, 'COMPLETED')])).toBe('running');
  });

  test('one that Slurm forgot runs until the nodes are known to have ended it', () => {
    expect(told(claimedBy(5), [], false)).toBe('running');
    expect(told(claimedBy(5), [], true)).toMatch(/^infrastructure: Slurm lost the job/);
  });
});

test('a stop that came first is the end, and a job that comes later changes nothing', () => {
  expect(told(left({ claim: { job: null }, stop }), [])).toBe(`preemption: ${stop.reason}`);
  expect(told(left({ claim: { job: null }, stop }), [job(7, 'RUNNING')])).toBe(`preemption: ${stop.reason}`);
});

describe('with accounting', () => {
  const accounting = (answer: Account | null): Accounting => ({
    of: () => answer,
    ask: async () => answer as Account,
    forget: () => {},
  });
  const ended = (state: JobState, endedBy: string | null = null): Account => ({
    kind: 'ended',
    job: { id: 5, name: run, comment: '', state, phase: 'over', submittedS: 5, endS: 6, endedBy },
  });
  const toldBy = (
    answer: Account | null,
    evidence: Evidence,
    jobs: readonly SlurmJob[] = [],
    settled = true,
  ) => told(evidence, jobs, settled, accounting(answer));

  test('nothing is told of a forgotten job while it is asked, and nothing before the nodes are known to run none', () => {
    expect(toldBy(null, claimedBy(5))).toBe('running');
    expect(toldBy(ended('NODE_FAIL'), claimedBy(5), [], false)).toBe('running');
  });

  test('it tells how a forgotten job ended, and who ended it', () => {
    expect(toldBy(ended('TIMEOUT'), claimedBy(5))).toBe('timeout: time limit reached');
    expect(toldBy(ended('CANCELLED', 'ann'), claimedBy(5))).toBe(
      'cancelled: cancelled in Slurm by ann, not through Muster',
    );
    expect(toldBy(ended('CANCELLED', 'ann'), claimedBy(5, exited(143)))).toBe(
      'cancelled: cancelled in Slurm by ann, not through Muster',
    );
    expect(toldBy(ended('CANCELLED', 'ann'), claimedBy(5), [job(5, 'CANCELLED')])).toBe(
      'cancelled: cancelled in Slurm by ann, not through Muster',
    );
  });

  test('what the script saw stands before it', () => {
    expect(toldBy(ended('FAILED'), claimedBy(5, exited(0)))).toBe('ended well');
    expect(toldBy(ended('CANCELLED', 'ann'), claimedBy(5, exited(3)))).toBe('user: exited with code 3');
    expect(toldBy(null, claimedBy(5, { ...exited(143, true), stop }))).toBe(`preemption: ${stop.reason}`);
  });

  test('a job that ended well and left no exit code is no success', () => {
    expect(toldBy(ended('COMPLETED'), claimedBy(5))).toMatch(/^infrastructure: .* ended as COMPLETED/);
  });

  test('where it does not answer, the end is told without it', () => {
    const answer: Account = { kind: 'nothing', why: 'its accounting did not answer (sacct: no)' };
    expect(toldBy(answer, claimedBy(5))).toMatch(
      /^infrastructure: Slurm lost the job: .*; its accounting did not/,
    );
    expect(toldBy(answer, claimedBy(5, exited(143)))).toBe('user: killed by SIGTERM');
    expect(toldBy(answer, claimedBy(5), [job(5, 'CANCELLED')])).toBe(
      'cancelled: cancelled in Slurm, not through Muster',
    );
  });
});

describe('on a node that does not answer', () => {
  const silent = new Set(['n1']);
  const state = (evidence: Evidence, jobs: readonly SlurmJob[]): string | undefined =>
    reportsOf(run, evidence, new KeyedJobs(jobs, 'ours'), { ...nothingKnown, settled: true, silent })[0]
      ?.state;

  test('what Slurm gave up may still run', () => {
    expect(state(claimedBy(5), [job(5, 'NODE_FAIL')])).toBe('running');
    expect(state(claimedBy(5), [])).toBe('running');
    for (const code of [null, 1, 137]) expect(state(claimedBy(5, exited(code)), [])).toBe('running');
  });

  test('a good end is one, and what never began is over', () => {
    expect(state(claimedBy(5, exited(0)), [])).toBe('ended');
    expect(state(left(), [job(5, 'NODE_FAIL')])).toBe('ended');
    expect(state(left({ claim: { job: null }, stop }), [])).toBe('ended');
  });
});

test('a job that Slurm ran a second time is over once its nodes have registered', () => {
  const again = claimedBy(5, { again: true });
  expect(told(again, [job(5, 'COMPLETED')])).toBe('running');
  expect(told(again, [job(5, 'RUNNING')], true)).toBe('running');
  expect(told(again, [job(5, 'COMPLETED')], true)).toBe(
    'infrastructure: Slurm lost that the job had begun, ended it, and ran it again for nothing',
  );
  expect(told({ ...again, stop }, [job(5, 'COMPLETED')], true)).toBe(`preemption: ${stop.reason}`);
  expect(told(claimedBy(5, { again: true, ...exited(0) }), [job(5, 'COMPLETED')], true)).toBe('ended well');
});

test('a job that somebody put back into the queue has not failed, and is over once it has run again', () => {
  const killed = (more = {}) => claimedBy(5, { ...exited(143), ...more });
  const back = { restarts: 1 };
  expect(told(killed(), [job(5, 'COMPLETING')])).toBe('running');
  expect(told(killed(), [job(5, 'PENDING', back)], true)).toBe('running');
  expect(told(killed(), [job(5, 'RUNNING', back)], true)).toBe('running');
  expect(told(killed({ again: true }), [job(5, 'COMPLETED', back)], true)).toBe(
    'infrastructure: put back into the queue in Slurm, not through Muster, which ended what ran of it',
  );
  // What ended before that has ended.
  expect(told(claimedBy(5, exited(0)), [job(5, 'PENDING', back)], true)).toBe('ended well');
  expect(told(claimedBy(5, exited(3)), [job(5, 'PENDING', back)], true)).toBe('user: exited with code 3');
  expect(told(killed({ stop }), [job(5, 'CANCELLED', back)], true)).toBe(`preemption: ${stop.reason}`);
});

describe('a job whose marks somebody edited', () => {
  const uses = [{ node: 'n1', cpus: 1, memoryMib: 1, gres: '' }];
  const begun = claimedBy(5);

  test('is known by the other one, and by the id that claimed the key', () => {
    expect(told(begun, [job(5, 'RUNNING', { name: 'mine now' })], true)).toBe('running');
    expect(told(begun, [job(5, 'RUNNING', { comment: '' })], true)).toBe('running');
    const ended = job(5, 'TIMEOUT', { comment: 'mine now' });
    expect(told(begun, [ended], true)).toBe('timeout: time limit reached');
    // Of what nobody claimed both must be there: a name is anybody's.
    expect(told(left(), [job(5, 'RUNNING', { comment: '' })], true)).toBe('nothing');
  });

  test('is not taken for gone while one of its id lives on its node, whoever that is', () => {
    const other = { name: 'x', comment: '', uses };
    expect(told(begun, [job(5, 'RUNNING', other)], true)).toBe('running');
    expect(told(begun, [job(5, 'COMPLETED', other)], true)).toMatch(/^infrastructure: Slurm lost the job/);
    // An id that is used again, elsewhere or for another run of ours, is not it.
    const elsewhere = [{ ...uses[0]!, node: 'n2' }];
    expect(told(begun, [job(5, 'RUNNING', { ...other, uses: elsewhere })], true)).toMatch(/lost the job/);
    const another = 'run_000000000000000002_1';
    const ours = { name: another, comment: `${another} ours`, uses };
    expect(told(begun, [job(5, 'RUNNING', ours)], true)).toMatch(/lost the job/);
  });
});
