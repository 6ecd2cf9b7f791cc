// Deliberate bugs: each is a small change of production code that breaks one promise. `npm run sim:bugs` applies them one at a
// time to a copy of the tree and expects the fault simulation to catch each within 200 seeds; a test keeps the patches applicable.
// Bugs in SQL, or in what stands between rules and SQL, run on worlds with real PostgreSQL.

export interface Change {
  readonly file: string;
  /** Occurs once. */
  readonly from: string;
  readonly to: string;
}

export interface Bug {
  readonly name: string;
  readonly postgres: boolean;
  readonly changes: readonly Change[];
}

const store = 'packages/store/src';
const control = 'packages/control/src';

export const bugs: readonly Bug[] = [
  {
    name: 'the epoch is not checked when a plan is committed',
    postgres: true,
    changes: [
      {
        file: `${store}/pg/commit-plan.ts`,
        from: "if (tx.epoch !== epoch) return 'stale-epoch';",
        to: 'void epoch;',
      },
    ],
  },
  {
    name: 'every job of a lost cluster starts elsewhere, whether or not it writes only where older attempts are refused',
    postgres: false,
    changes: [
      {
        file: `${store}/rules/failover-rules.ts`,
        from: 'return job.fenced && hasNextAttempt(job.state, state, job.retry);',
        to: 'return hasNextAttempt(job.state, state, job.retry);',
      },
    ],
  },
  {
    name: 'capacity is released when a run becomes unknown',
    postgres: false,
    changes: [
      {
        file: `${store}/rules/run-rules.ts`,
        from: "    changes.event(run.job, { kind: 'run.unknown', run: run.id, job: run.job.id, node });",
        to: "    changes.event(run.job, { kind: 'run.unknown', run: run.id, job: run.job.id, node }), changes.endedRuns.push(run);",
      },
    ],
  },
  {
    name: 'what runs on a silent node is dispatched a second time at once',
    postgres: false,
    changes: [
      {
        file: `${store}/rules/node-rules.ts`,
        from: 'endTasks(changes, run, here.filter(neverSent), silentBeforeSent(node));',
        to: 'endTasks(changes, run, here.filter((task) => !isOver(task) || neverSent(task)), silentBeforeSent(node));',
      },
    ],
  },
  {
    name: 'of a gang one outbox row is lost',
    postgres: true,
    changes: [
      {
        file: `${store}/pg/commit-plan.ts`,
        from: 'starts.map(({ node }) => node), starts.map(({ run }) => run)]',
        to: 'starts.slice(0, 1).map(({ node }) => node), starts.slice(0, 1).map(({ run }) => run)]',
      },
    ],
  },
  {
    name: 'a session that was replaced may still speak',
    postgres: true,
    changes: [
      {
        file: `${store}/pg/hello.ts`,
        from: "if (hello.replaces !== undefined && hello.replaces !== node.session) return 'replaced';",
        to: 'void hello.replaces;',
      },
      {
        file: `${store}/rules/node-rules.ts`,
        from: 'if (sessionOf(node) !== session) return null;',
        to: 'if (sessionOf(node) === undefined || session.length === 0) return null;',
      },
      {
        file: `${store}/pg/renew.ts`,
        from: 'ON n.id = s.node AND n.session = s.session',
        to: 'ON n.id = s.node',
      },
      {
        file: `${store}/pg/renew.ts`,
        from: 'const kept = renewals.filter((renewal) => current.get(renewal.node) === renewal.session);',
        to: 'const kept = renewals.filter((renewal) => current.has(renewal.node));',
      },
      {
        file: `${store}/pg/renew.ts`,
        from: "if (value.current.get(node) !== session) return 'stale-session';",
        to: "if (!value.current.has(node) || session === '') return 'stale-session';",
      },
    ],
  },
  {
    name: 'a cancel is forgotten when the run ends',
    postgres: false,
    changes: [
      {
        file: 'packages/model/src/job-state.ts',
        from: "if (job.state === 'stopping') {",
        to: 'if (false) {',
      },
      {
        file: 'packages/model/src/job-state.ts',
        from: "stopping: { cancel: ['stopping'], 'run-end': ['ended'] },",
        to: "stopping: { cancel: ['stopping'], 'run-end': ['queued', 'ended'] },",
      },
      {
        file: 'packages/model/src/outcome.ts',
        from: "  if (result.outcome !== 'failed') return { kind: 'end', result, failures };",
        to: "  if (result.outcome === 'cancelled') return { kind: 'retry', failures, delayMs: 0, avoid };\n  if (result.outcome !== 'failed') return { kind: 'end', result, failures };",
      },
    ],
  },
  {
    name: 'a gang is said to run when one of its tasks has started',
    postgres: false,
    changes: [
      {
        file: `${store}/rules/run-rules.ts`,
        from: "if (!run.tasks.every((one) => one.state.state === 'running' || isOver(one))) return;",
        to: "if (!run.tasks.some((one) => one.state.state === 'running' || isOver(one))) return;",
      },
    ],
  },
  {
    name: 'renewals are ignored by expiry, in the loop and in the write',
    postgres: false,
    changes: [
      {
        file: `${control}/expire.ts`,
        from: 'known?.renewals === renewals ? known : { renewals, atMs: nowMs }',
        to: 'known ? { ...known, renewals } : { renewals, atMs: nowMs }',
      },
      {
        file: `${store}/rules/lease-rules.ts`,
        from: 'nowMs >= renewedMs + run.stopAfterMs + item.marginMs',
        to: 'nowMs >= 0 * renewedMs + item.marginMs',
      },
    ],
  },
  {
    name: 'the ceilings of projects are not looked at',
    postgres: false,
    changes: [
      {
        file: 'packages/engine/src/gates.ts',
        from: 'if (ceiling[at] !== none && use[at]! + amounts[i]! > ceiling[at]!) return true;',
        to: 'void (use[at]! + amounts[i]! > ceiling[at]!);',
      },
    ],
  },
  {
    name: 'the log has a gap',
    postgres: true,
    changes: [
      {
        file: `${store}/event-log.ts`,
        from: '  UPDATE log_head SET sequence = sequence + cardinality($1::text[])\n',
        to: '  UPDATE log_head SET sequence = sequence + cardinality($1::text[]) + (sequence % 50 = 49)::int\n',
      },
    ],
  },
  {
    name: 'leases expire by the clock of the database alone',
    postgres: false,
    changes: [
      {
        file: `${control}/expire.ts`,
        from: 'const quietMs = world.clock.monotonicMs() - known.atMs;',
        to: 'const quietMs = Number.POSITIVE_INFINITY;',
      },
    ],
  },
];
