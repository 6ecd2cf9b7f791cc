// Makes a running control plane from a store, a database address and a logger: real clock, worker thread, agent hub, and the
// loops. Start-up, leader change and reconnect all do the same: load, observe, reconcile.
import { randomBytes } from 'node:crypto';
import { createAgentHub } from '@muster/drivers/agent';
import { freshId, type ServerId } from '@muster/model';
import type { Retention, Store } from '@muster/store';
import { byNode } from '../by-node.ts';
import { startClusters } from '../clusters.ts';
import type { ControlPlane } from '../control-plane.ts';
import { type Dispatch, startDispatch } from '../dispatch.ts';
import { startExpire } from '../expire.ts';
import { startLeader } from '../leader.ts';
import { startLearning } from '../learning.ts';
import { createAgentSink } from '../observe.ts';
import { defaultRetention, startRetention } from '../retention.ts';
import { defaultSnapshots, type SnapshotSettings, startSnapshots } from '../snapshots.ts';
import { testCluster } from '../test-cluster.ts';
import type { Log } from '../world.ts';
import { startBrainThread } from './brain-thread.ts';
import { connectCluster } from './connect-cluster.ts';
import { isProcessDead, thisProcess } from './process-identity.ts';
import { questionsThread } from './questions-thread.ts';
import { realWorld } from './real-world.ts';

export interface StartOptions {
  readonly store: Store;
  /** For the engine thread's own connection. */
  readonly databaseUrl: string;
  readonly server: ServerId;
  /** Where other servers reach this one; asked again and again, because the port may be known only once it listens. */
  readonly publicUrl: () => string;
  readonly log: Log;
  readonly retention?: Partial<Retention>;
  readonly snapshots?: Partial<SnapshotSettings>;
  /** A bug: log, exit non-zero, restart clean. */
  readonly onBug: (error: unknown) => void;
}

export async function startControlPlane(options: StartOptions): Promise<ControlPlane> {
  const { store, databaseUrl, server, publicUrl, log, onBug } = options;
  const world = realWorld(log);
  const brain = await startBrainThread({ databaseUrl, log, onBug });
  const questions = questionsThread({ databaseUrl, log });
  const identity = thisProcess();
  const installation = await store.installation();
  let dispatch: Dispatch | null = null;
  const sink = createAgentSink({ world, store, server, onReady: () => dispatch?.wake() });
  const hub = createAgentHub({ server, sink, log, timers: world.timers });
  const leader = startLeader({
    world,
    store,
    server: () => ({ id: server, url: publicUrl(), ...identity }),
    isDead: isProcessDead,
    onChange: (epoch) => brain.lead(epoch),
    onBug,
  });
  const epoch = (): number | null => leader.epoch;
  const clusters = startClusters({
    world,
    store,
    server,
    installation,
    process: randomBytes(6).toString('base64url'),
    epoch,
    freshNode: () => freshId('node', Date.now(), randomBytes(9)),
    connect: connectCluster,
    publicUrl,
    onReady: () => dispatch?.wake(),
    onBug,
  });
  dispatch = startDispatch({ world, store, driver: byNode(hub, () => clusters.open()), onBug });
  const learning = startLearning({ world, store, onBug });
  const retention = { ...defaultRetention, ...options.retention };
  const snapshots = { ...defaultSnapshots, ...options.snapshots };
  const expire = startExpire({ world, store, epoch, onBug });
  const loops = [
    expire,
    learning,
    startRetention({ world, store, epoch, retention, onBug }),
    startSnapshots({
      world,
      store,
      questions,
      epoch,
      settings: snapshots,
      onSnapshot: () => brain.beginAnew(),
      onBug,
    }),
  ];

  return {
    server,
    explain: (job, atLeast) => brain.explain(job, atLeast),
    verdicts: (jobs) => brain.verdicts(jobs),
    consider: (request) => brain.consider(request),
    planned: () => brain.planned(),
    ledger: (atLeast) => brain.ledger(atLeast),
    estimate: (spec, user) => learning.estimate(spec, user),
    score: (request, known) => questions.score(request, known),
    whatIf: (question, atLeast) => questions.whatIf(question, atLeast),
    replay: (request, progress, signal) => questions.replay(request, progress, signal),
    agents: {
      accept: (socket, from) => hub.accept(socket, from),
      get connected() {
        return hub.connected;
      },
      isConnected: (node) => hub.isConnected(node) || clusters.speaksFor(node),
      refused: () => hub.refused(),
      readOutput: (request) =>
        hub.isConnected(request.node) ? hub.output(request) : clusters.output(request),
    },
    testCluster: async (config) => {
      const who = { installation, server: publicUrl(), clusters: await store.clusters() };
      return testCluster(config, who, connectCluster);
    },
    status() {
      const { trouble, ...status } = brain.status();
      const troubles = [
        trouble,
        dispatch?.trouble(),
        leader.trouble(),
        ...loops.map((loop) => loop.trouble()),
        ...clusters.troubles(),
      ];
      return {
        leading: leader.epoch !== null,
        epoch: leader.epoch ?? 0,
        ...status,
        troubles: troubles.filter((text) => typeof text === 'string'),
      };
    },
    async stepDown() {
      await leader.stop();
      await expire.stop();
    },
    async stop() {
      hub.close();
      await leader.stop();
      await clusters.stop();
      await questions.stop();
      await Promise.all([...loops.map((loop) => loop.stop()), dispatch?.stop()]);
      await brain.stop();
    },
  };
}
