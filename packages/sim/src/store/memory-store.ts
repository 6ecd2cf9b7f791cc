// The store of virtual worlds: the contract's intentions on an in-memory database, by the same rules and in the same groups as
// on PostgreSQL. It passes the same suite.
//
// A call reaches the database by a line, which decides when it gets there and what comes back: nothing because it never
// got there, the answer, or no answer to a COMMIT that took effect or did not. Group boundaries are those of the
// PostgreSQL store, so one lost answer makes a whole group unknown.
import type { DispatchSession, OutboxCommand, Store } from '@muster/store';
import {
  CommitUnknown,
  groupCommit,
  known,
  lanes,
  looked,
  outcomeOf,
  outcomesOf,
  resultOf,
  sessionOutcome,
} from '@muster/store/rules';
import { cancelRange, changeJob, checkpoint, moveOne, ownRun } from './change-job.ts';
import * as clusters from './clusters.ts';
import { commitPlan } from './commit-plan.ts';
import type { MemoryDatabase } from './database.ts';
import { endedJobs } from './ended-jobs.ts';
import * as identity from './identity.ts';
import * as leadership from './leadership.ts';
import * as liveness from './liveness.ts';
import * as admin from './node-admin.ts';
import { candidates, closeAll, take } from './outbox.ts';
import * as jobReads from './read-jobs.ts';
import * as log from './read-log.ts';
import * as nodeReads from './read-nodes.ts';
import { hello, observeAll, renewAll } from './sessions.ts';
import { keyText, submitAll } from './submit.ts';

export interface Line {
  /** Rejects with OperationalError('unavailable') when the database was not reached. */
  read<T>(work: () => T): Promise<T>;
  /** Also rejects with CommitUnknown: the work was done or not, and nobody can tell but by looking. */
  write<T>(work: () => T): Promise<T>;
  /** Somebody committed something: calls back soon, or not at all. */
  hint(callback: () => void): void;
}

/** Everything gets there at once and is answered. */
export const directLine: Line = {
  read: async (work) => work(),
  write: async (work) => work(),
  hint: (callback) => queueMicrotask(callback),
};

export function openMemoryStore(database: MemoryDatabase, line: Line = directLine): Store {
  const { tables } = database;
  const submits = groupCommit(lanes.submit, (items: Parameters<typeof submitAll>[1]) =>
    line.write(() => submitAll(database, items)),
  );
  const observations = groupCommit(lanes.observe, (items: Parameters<typeof observeAll>[1]) =>
    line.write(() => observeAll(database, items)),
  );
  const renewals = groupCommit(lanes.renew, (items: Parameters<typeof renewAll>[1]) =>
    line.write(() => renewAll(database, items)),
  );
  const done = groupCommit(lanes.outbox, (items: Parameters<typeof closeAll>[1]) =>
    line.write(() => closeAll(database, items)),
  );
  const takeOutbox = outboxTaker(database, line);
  const ends = new Set<() => void>();
  return {
    nowMs: () => line.read(() => database.nowMs()),
    async close() {
      for (const end of ends) end();
    },
    async submit(item) {
      const [settled] = await submits.push([item]);
      return outcomeOf(settled!);
    },
    submitMany: async (items) => outcomesOf(await submits.push(items)),
    cancel: (job, by, versions) =>
      known(line.write(() => changeJob(database, 'cancel', job, by, versions))) as ReturnType<
        Store['cancel']
      >,
    cancelRange: (array, range, by, versions) =>
      known(line.write(() => cancelRange(database, array, range, by, versions))) as ReturnType<
        Store['cancelRange']
      >,
    ownRun: (token) => line.read(() => ownRun(database, token)),
    checkpoint: (token, saved) => known(line.write(() => checkpoint(database, token, saved))),
    hold: (job, by, versions) => known(line.write(() => changeJob(database, 'hold', job, by, versions))),
    release: (job, by, versions) =>
      known(line.write(() => changeJob(database, 'release', job, by, versions))),
    move: (job, order, by) =>
      known(line.write(() => moveOne(database, job, order, by))) as ReturnType<Store['move']>,
    unmove: (job, by) =>
      known(line.write(() => moveOne(database, job, null, by))) as ReturnType<Store['unmove']>,
    commitPlan: (epoch, plan, trace) =>
      known(line.write(() => commitPlan(database, epoch, plan, trace ?? null))),
    saveSnapshot(epoch, sequence, pieces, bytesMax) {
      const texts = [...pieces];
      return known(line.write(() => log.saveSnapshot(database, epoch, sequence, texts, bytesMax)));
    },
    expire: (epoch, items) => known(line.write(() => liveness.expire(database, epoch, items))),
    silenceOverdue: (epoch) => known(line.write(() => liveness.silenceOverdue(database, epoch))),
    freeze: (epoch, freeze) => known(line.write(() => admin.freeze(database, epoch, freeze))),
    retain: (epoch, retention) => known(line.write(() => log.retain(database, epoch, retention))),
    takeOutbox: (sessions, limit) => looked(takeOutbox(sessions, limit)),
    async closeOutbox(items) {
      for (const settled of await done.push(items)) resultOf(settled);
    },
    nodeKey: (node) => line.read(() => nodeReads.nodeKey(database, node)),
    nodeSessions: (nodes) => line.read(() => nodeReads.nodeSessions(database, nodes)),
    createEnrolment: (enrolment) => looked(line.write(() => admin.createEnrolment(database, enrolment))),
    enrol: (request) => known(line.write(() => admin.enrol(database, request))),
    hello: (message) => known(line.write(() => hello(database, message))),
    async renew(renewal) {
      const [settled] = await renewals.push([renewal]);
      return sessionOutcome(settled!);
    },
    async observe(session, items) {
      const [settled] = await observations.push([{ session, items }]);
      return sessionOutcome(settled!);
    },
    silence: (session) => looked(line.write(() => liveness.silence(database, session))),
    drain: (node, drain, by) => known(line.write(() => admin.drain(database, node, drain, by))),
    trust: (node, trustMilli, by) => known(line.write(() => admin.trust(database, node, trustMilli, by))),
    strike: (node, item, rule) => known(line.write(() => admin.strike(database, node, item, rule))),
    declareLost: (node, by) => known(line.write(() => liveness.declareLost(database, node, by))),
    removeNode: (node, by) => known(line.write(() => admin.removeNode(database, node, by))),
    thaw: (cluster, by) => known(line.write(() => admin.thaw(database, cluster, by))),
    silenceOver: (epoch, cluster) => known(line.write(() => admin.silenceOver(database, epoch, cluster))),
    addCluster: (name, config, by) =>
      known(line.write(() => clusters.addCluster(database, name, config, by))),
    clusters: () => line.read(() => clusters.clusters(database)),
    installation: () => line.read(() => 'simulated'),
    clusterSums: () => line.read(() => clusters.clusterSums(database)),
    drainCluster: (name, drain, by) =>
      known(line.write(() => clusters.drainCluster(database, name, drain, by))),
    setCluster: (name, config, by) =>
      known(line.write(() => clusters.setCluster(database, name, config, by))),
    removeCluster: (name, by) => known(line.write(() => clusters.removeCluster(database, name, by))),
    admitNodes: (epoch, name, nodes) =>
      known(line.write(() => clusters.admitNodes(database, epoch, name, nodes))),
    failOver: (epoch, name) => known(line.write(() => clusters.failOver(database, epoch, name))),
    noteCluster: (epoch, name, sign) =>
      known(line.write(() => clusters.noteCluster(database, epoch, name, sign))),
    leases: () => line.read(() => nodeReads.leases(database)),
    frozen: () => line.read(() => nodeReads.frozen(database)),
    acquireLease: (server, leaseMs, deadEpoch) =>
      looked(line.write(() => leadership.acquireLease(database, server, leaseMs, deadEpoch))),
    renewLease: (server, epoch, leaseMs) =>
      looked(line.write(() => leadership.renewLease(database, server, epoch, leaseMs))),
    releaseLease: (server, epoch) =>
      looked(line.write(() => leadership.releaseLease(database, server, epoch))),
    leader: () => line.read(() => leadership.leader(database)),
    announceServer: (server) => looked(line.write(() => leadership.announceServer(database, server))),
    serverOfNode: (node) => line.read(() => leadership.serverOfNode(database, node)),
    eventsSince: (sequence, limit) => line.read(() => log.eventsSince(database, sequence, limit)),
    head: () => line.read(() => ({ logId: database.logId, sequence: tables.events.length, first: 1 })),
    onEvents(hint) {
      const end = database.onEvents(() => line.hint(hint));
      ends.add(end);
      return () => {
        end();
        ends.delete(end);
      };
    },
    loadEngine: () => line.read(() => log.loadEngine(database)),
    decisions: (query) => line.read(() => log.decisions(database, query)),
    lifeAt: (sequence) => line.read(() => log.lifeAt(database, sequence)),
    snapshots: () => line.read(() => log.snapshots(database)),
    async *snapshotPieces(sequence) {
      yield* await line.read(() => tables.snapshots.get(sequence)?.pieces ?? []);
    },
    job: (job) => line.read(() => jobReads.job(database, job)),
    jobs: (query) => line.read(() => jobReads.jobs(database, query)),
    members: (query) => line.read(() => jobReads.members(database, query)),
    endedJobs: (after, limit) => line.read(() => endedJobs(database, after, limit)),
    jobsOn: (nodes) => line.read(() => jobReads.jobsOn(database, nodes)),
    jobByKey: (project, principal, key) =>
      line.read(() => tables.keys.get(keyText(project, principal, key))?.job ?? null),
    runs: (job) => line.read(() => jobReads.runs(database, job)),
    node: (idOrName) => line.read(() => nodeReads.node(database, idOrName)),
    nodes: (query) => line.read(() => nodeReads.nodes(database, query)),
    events: (query) => line.read(() => log.events(database, query)),
    claims: (job, limit) => line.read(() => log.claims(database, job, limit)),
    counts: () => line.read(() => nodeReads.counts(database)),
    policy: () =>
      line.read(() => {
        const { version, policy } = tables.policy();
        return { version, policy };
      }),
    setPolicy: (policy, expected, by) =>
      known(line.write(() => identity.setPolicy(database, policy, expected, by))),
    policyVersions: (before, limit) => line.read(() => identity.policyVersions(database, before, limit)),
    policyAt: (version) => line.read(() => tables.policies.find((row) => row.version === version) ?? null),
    usage: (query) => line.read(() => jobReads.usage(database, query)),
    createProject: (path, by) => known(line.write(() => identity.createProject(database, path, by))),
    projects: (scope) => line.read(() => identity.projects(database, scope)),
    createToken: (token) => looked(line.write(() => identity.createToken(database, token))),
    tokenByHash: (hash) => line.read(() => identity.tokenByHash(database, hash)),
    tokens: () => line.read(() => identity.tokens(database)),
    revokeToken: (token) => looked(line.write(() => identity.revokeToken(database, token))),
    audit: (entries) => looked(line.write(() => identity.audit(database, entries))),
    auditSince: (after, limit) =>
      line.read(() => tables.audit.filter(({ id }) => id > after).slice(0, limit)),
  };
}

/** As on PostgreSQL: only this store can know which rows it took without hearing of it, so it takes them again. */
function outboxTaker(database: MemoryDatabase, line: Line) {
  const doubtful = new Set<number>();
  return async (sessions: readonly DispatchSession[], limit: number): Promise<readonly OutboxCommand[]> => {
    const again = new Set(doubtful);
    const ids = await line.read(() => candidates(database, sessions, limit, again));
    if (ids.length === 0) return [];
    try {
      const taken = await line.write(() => take(database, ids, sessions, again));
      for (const id of ids) doubtful.delete(id);
      return taken;
    } catch (error) {
      if (error instanceof CommitUnknown) for (const id of ids) doubtful.add(id);
      throw error;
    }
  };
}
