// Opens the PostgreSQL store: migrates, makes event partitions ahead, and puts the contract's intentions together from
// one file each.
import type { Store } from './contract.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { makePartitions } from './event-partitions.ts';
import { groupCommit, type Settled } from './group-commit.ts';
import { Hints } from './hints.ts';
import { migrate } from './migrate.ts';
import { known, lanes, looked, outcomeOf, outcomesOf, resultOf, sessionOutcome } from './outcomes.ts';
import { type AuditCheck, audit, auditSince, verifyAudit } from './pg/audit.ts';
import { cancelRange, changeJob, moveOne } from './pg/cancel.ts';
import { checkpoint } from './pg/checkpoint.ts';
import { commitOutboxDone } from './pg/close-outbox.ts';
import * as clusters from './pg/clusters.ts';
import { commitPlan } from './pg/commit-plan.ts';
import { decisions, lifeAt } from './pg/decisions.ts';
import { endedJobs } from './pg/ended-jobs.ts';
import { commitHellos } from './pg/hello.ts';
import * as identity from './pg/identity.ts';
import * as leadership from './pg/leadership.ts';
import * as liveness from './pg/liveness.ts';
import * as admin from './pg/node-admin.ts';
import { commitObservations } from './pg/observe.ts';
import { ownRun } from './pg/own-run.ts';
import * as policies from './pg/policies.ts';
import * as jobReads from './pg/read-jobs.ts';
import * as log from './pg/read-log.ts';
import * as nodeReads from './pg/read-nodes.ts';
import { commitRenewals } from './pg/renew.ts';
import { retain } from './pg/retain.ts';
import { saveSnapshot, snapshotPieces, snapshots } from './pg/snapshots.ts';
import { strike } from './pg/strikes.ts';
import { commitSubmits, type SubmitOutcome } from './pg/submit.ts';
import { outboxTaker } from './pg/take-outbox.ts';
import { usageBetween } from './pg/usage-report.ts';

export interface OpenOptions extends DatabaseOptions {
  /** Rows of one event partition; for tests. */
  readonly partitionRows?: number;
}

export interface PgStore extends Store {
  /** Whether the audit chain is whole. */
  verifyAudit(): Promise<AuditCheck>;
  /**
   * For the command that restores a backup: readers' cursors point into a future that no longer exists, so the log
   * gets a new id, and epochs jump so far that no command of the lost future is newer.
   */
  newLogId(): Promise<string>;
}

export async function openStore(options: OpenOptions): Promise<PgStore> {
  await migrate(options);
  const hints = new Hints(options.url);
  const partitions = partitionKeeper(options.partitionRows);
  const database: Database = new Database(options, {
    onAppended(sequence) {
      hints.give();
      partitions.after(database, sequence);
    },
    makePartitions: () => partitions.make(database),
  });
  try {
    await partitions.make(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return storeOn(database, hints);
}

function partitionKeeper(rows: number | undefined) {
  let askAgainAt = 0;
  let making: Promise<void> | null = null;
  const make = async (database: Database): Promise<void> => {
    making ??= database
      .write((tx) => makePartitions(tx, rows), { anySequence: true })
      .then(({ value }) => {
        askAgainAt = value;
      })
      .finally(() => {
        making = null;
      });
    await making;
  };
  return {
    make,
    after(database: Database, sequence: number): void {
      // A failure here is met again, by the next append or at the latest by one that finds no partition.
      if (sequence >= askAgainAt) make(database).catch(() => {});
    },
  };
}

function storeOn(database: Database, hints: Hints): PgStore {
  const submits = groupCommit(lanes.submit, commitSubmits(database));
  const observations = groupCommit(lanes.observe, commitObservations(database));
  const hellos = groupCommit(lanes.hello, commitHellos(database));
  const renewals = groupCommit(lanes.renew, commitRenewals(database));
  const done = groupCommit(lanes.outbox, commitOutboxDone(database));
  const takeOutbox = outboxTaker(database);
  let latestMs = 0;
  return {
    async nowMs() {
      const [row] = await database.query<{ nowMs: number }>(nowText);
      latestMs = Math.max(latestMs, row?.nowMs ?? 0);
      return latestMs;
    },
    async close() {
      await hints.close();
      await database.close();
    },
    async submit(item) {
      const [settled] = await submits.push([item]);
      return outcomeOf(settled as Settled<SubmitOutcome>);
    },
    async submitMany(items) {
      return outcomesOf(await submits.push(items));
    },
    cancel: (job, by, versions) =>
      known(changeJob(database, 'cancel', job, by, versions)) as ReturnType<Store['cancel']>,
    cancelRange: (array, range, by, versions) =>
      known(cancelRange(database, array, range, by, versions)) as ReturnType<Store['cancelRange']>,
    checkpoint: (token, saved) => known(checkpoint(database, token, saved)),
    ownRun: (token) => looked(ownRun(database, token)),
    hold: (job, by, versions) => known(changeJob(database, 'hold', job, by, versions)),
    release: (job, by, versions) => known(changeJob(database, 'release', job, by, versions)),
    move: (job, order, by) => known(moveOne(database, job, order, by)) as ReturnType<Store['move']>,
    unmove: (job, by) => known(moveOne(database, job, null, by)) as ReturnType<Store['unmove']>,
    commitPlan: (epoch, plan, trace) => known(commitPlan(database, epoch, plan, trace ?? null)),
    saveSnapshot: (epoch, sequence, pieces, bytesMax) =>
      known(saveSnapshot(database, epoch, sequence, pieces, bytesMax)),
    expire: (epoch, items) => known(liveness.expire(database, epoch, items)),
    silenceOverdue: (epoch) => known(liveness.silenceOverdue(database, epoch)),
    freeze: (epoch, freeze) => known(admin.freeze(database, epoch, freeze)),
    retain: (epoch, retention) => known(retain(database, epoch, retention)),
    takeOutbox: (sessions, limit) => looked(takeOutbox(sessions, limit)),
    async closeOutbox(items) {
      for (const settled of await done.push(items)) resultOf(settled);
    },
    nodeKey: (node) => nodeReads.nodeKey(database, node),
    nodeSessions: (nodes) => nodeReads.nodeSessions(database, nodes),
    createEnrolment: (enrolment) => looked(admin.createEnrolment(database, enrolment)),
    enrol: (request) => known(admin.enrol(database, request)),
    async hello(message) {
      const [settled] = await hellos.push([message]);
      return outcomeOf(settled!);
    },
    async renew(renewal) {
      const [settled] = await renewals.push([renewal]);
      return sessionOutcome(settled!);
    },
    async observe(session, items) {
      const [settled] = await observations.push([{ session, items }]);
      return sessionOutcome(settled!);
    },
    silence: (session) => looked(liveness.silence(database, session)),
    drain: (node, drain, by) => known(admin.drain(database, node, drain, by)),
    trust: (node, trustMilli, by) => known(admin.trust(database, node, trustMilli, by)),
    strike: (node, item, rule) => known(strike(database, node, item, rule)),
    declareLost: (node, by) => known(liveness.declareLost(database, node, by)),
    removeNode: (node, by) => known(admin.removeNode(database, node, by)),
    thaw: (cluster, by) => known(admin.thaw(database, cluster, by)),
    silenceOver: (epoch, cluster) => known(admin.silenceOver(database, epoch, cluster)),
    addCluster: (name, config, by) => known(clusters.addCluster(database, name, config, by)),
    clusters: () => clusters.clusters(database),
    installation: () => clusters.installation(database),
    clusterSums: () => clusters.clusterSums(database),
    drainCluster: (name, drain, by) => known(clusters.drainCluster(database, name, drain, by)),
    setCluster: (name, config, by) => known(clusters.setCluster(database, name, config, by)),
    removeCluster: (name, by) => known(clusters.removeCluster(database, name, by)),
    admitNodes: (epoch, name, nodes) => known(clusters.admitNodes(database, epoch, name, nodes)),
    noteCluster: (epoch, name, sign) => known(clusters.noteCluster(database, epoch, name, sign)),
    failOver: (epoch, name) => known(clusters.failOver(database, epoch, name)),
    leases: () => nodeReads.leases(database),
    frozen: () => nodeReads.frozen(database),
    acquireLease: (server, leaseMs, deadEpoch) =>
      looked(leadership.acquireLease(database, server, leaseMs, deadEpoch)),
    renewLease: (server, epoch, leaseMs) => looked(leadership.renewLease(database, server, epoch, leaseMs)),
    releaseLease: (server, epoch) => looked(leadership.releaseLease(database, server, epoch)),
    leader: () => leadership.leader(database),
    announceServer: (server) => looked(leadership.announceServer(database, server)),
    serverOfNode: (node) => leadership.serverOfNode(database, node),
    eventsSince: (sequence, limit) => log.eventsSince(database, sequence, limit),
    head: () => log.head(database),
    onEvents: (hint) => hints.on(hint),
    loadEngine: () => log.loadEngine(database),
    decisions: (query) => decisions(database, query),
    lifeAt: (sequence) => lifeAt(database, sequence),
    snapshots: () => snapshots(database),
    snapshotPieces: (sequence) => snapshotPieces(database, sequence),
    job: (job) => jobReads.job(database, job),
    jobs: (query) => jobReads.jobs(database, query),
    members: (query) => jobReads.members(database, query),
    endedJobs: (after, limit) => endedJobs(database, after, limit),
    jobsOn: (nodes) => jobReads.jobsOn(database, nodes),
    jobByKey: (project, principal, key) => jobReads.jobByKey(database, project, principal, key),
    runs: (job) => jobReads.runs(database, job),
    node: (idOrName) => nodeReads.node(database, idOrName),
    nodes: (query) => nodeReads.nodes(database, query),
    events: (query) => log.events(database, query),
    claims: (job, limit) => log.claims(database, job, limit),
    counts: () => nodeReads.counts(database),
    policy: () => identity.policy(database),
    setPolicy: (policy, expected, by) => known(policies.setPolicy(database, policy, expected, by)),
    policyVersions: (before, limit) => policies.policyVersions(database, before, limit),
    policyAt: (version) => policies.policyAt(database, version),
    usage: (query) => usageBetween(database, query),
    createProject: (path, by) => known(identity.createProject(database, path, by)),
    projects: (scope) => identity.projects(database, scope),
    createToken: (token) => looked(identity.createToken(database, token)),
    tokenByHash: (hash) => identity.tokenByHash(database, hash),
    tokens: () => identity.tokens(database),
    revokeToken: (token) => looked(identity.revokeToken(database, token)),
    audit: (entries) => looked(audit(database, entries)),
    auditSince: (after, limit) => auditSince(database, after, limit),
    verifyAudit: () => verifyAudit(database),
    async newLogId() {
      const [row] = await looked(database.change<{ logId: string }>(newLogText));
      return row?.logId as string;
    },
  };
}

const nowText = { name: 'now', text: 'SELECT now_ms() AS "nowMs"' };
const newLogText = {
  name: 'new-log-id',
  text: `
WITH jump AS (UPDATE leader SET epoch = epoch + 1000000, server = NULL, holder = NULL, expires_ms = 0)
UPDATE log_head SET log_id = gen_random_uuid() RETURNING log_id AS "logId"`,
};
