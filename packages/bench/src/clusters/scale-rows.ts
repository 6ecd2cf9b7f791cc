// One Muster in front of three clusters, one of them with 10,000 nodes and 50,000 pods: how long it takes a new server to know all of it
// again, how late it knows that a pod runs, and how much memory it needs.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  slurmMissing,
  startKubernetes,
  startKwok,
  startSlurm,
  type TestKubernetes,
  testNamespace,
} from '@muster/drivers/testing';
import type { JobSpecInput } from '@muster/model';
import { rssMb } from '../control/child.ts';
import { watchMemory } from '../control/memory.ts';
import { withClient } from '../control/pg-client.ts';
import { submitMany } from '../control/submit-many.ts';
import { type Bed, type ControlPlane, startControlPlane } from '../control/system.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { quantile } from '../statistics.ts';
import { untilDispatched, untilKnownRunning } from './dispatched.ts';
import { observeLags } from './observe-lag.ts';
import { connect } from './pods-rows.ts';
import { image, podJob } from './sample-pods.ts';
import { benchSlurm, connectSlurm } from './slurm-rows.ts';

interface Scale {
  readonly nodes: number;
  readonly pods: number;
  /** Of each of the other two, where they are played. */
  readonly otherNodes: number;
  /** Jobs that start while the lag is measured, a few at a time. */
  readonly trickle: number;
}

const whole: Scale = { nodes: 10_000, pods: 50_000, otherNodes: 1000, trickle: 1000 };
const small: Scale = { nodes: 2000, pods: 5000, otherNodes: 200, trickle: 200 };
/** So that renewals are not most of what the API server does. */
const leaseSeconds = 1200;
const trickleBatch = 10;
const trickleEveryMs = 500;
const fillWithinMs = 1_500_000;
const resyncWithinMs = 600_000;
const trickleWithinMs = 600_000;

export async function measureScale(bed: Bed, options: BenchOptions): Promise<ToldRow[]> {
  const { progress } = options;
  const scale = options.quick ? small : whole;
  const big = await played(options, scale.nodes);
  progress(`an API server with ${scale.nodes} nodes of kwok runs`);
  const first = await startControlPlane(bed, 'bench_scale');
  const idleMb = rssMb(first.child.pid);
  const memory = watchMemory(first.child);
  const joinedMs = performance.now();
  await connect(first, big, 'west', scale.nodes, { image });
  progress(`its nodes take work after ${seconds(joinedMs)} s`);
  await connectOthers(first, options, scale);
  const filledMs = performance.now();
  await Promise.all([
    submitMany(first, scale.pods, () => podJob, fillWithinMs),
    untilDispatched(first.databaseUrl, scale.pods, fillWithinMs),
  ]);
  progress(
    `${scale.pods} pods are bound after ${seconds(filledMs)} s; the server has ${memory.peakMb().toFixed(0)} MB`,
  );
  await untilKnownRunning(first.databaseUrl, scale.pods, fillWithinMs);
  progress(`all of them are known to run after ${seconds(filledMs)} s`);
  const lags = await trickled(first, big, scale);
  progress(
    `lag of ${lags.length} starts: p50 ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${quantile(lags, 0.99).toFixed(0)} ms`,
  );
  const bareS = await bareList(big);
  progress(`a bare list of all nodes and pods: ${bareS.toFixed(1)} s`);
  memory.end();
  const before = await sessions(first.databaseUrl);
  first.child.process.kill('SIGKILL');
  const startedMs = performance.now();
  const second = await startControlPlane(bed, 'bench_scale', { again: first });
  const memoryAfter = watchMemory(second.child);
  await resynced(second.databaseUrl, before);
  const resyncS = (performance.now() - startedMs) / 1000;
  memoryAfter.end();
  const about = `${scale.nodes.toLocaleString('en')} nodes and ${scale.pods.toLocaleString('en')} pods on one of three clusters`;
  const rows = [
    row({
      name: 'resync_s',
      value: resyncS,
      unit: 's',
      reference: ['a bare list of the same nodes and pods by the same client', bareS],
      about: `From the start of a server after the last one was killed until it has told of every node and pod, ${about}`,
      aim: null,
    }),
    row({
      name: 'observe_lag_p99_ms',
      value: quantile(lags, 0.99),
      unit: 'ms',
      reference: null,
      about: `99th percentile of the time from the API server's word that a pod runs until that is committed, ${about}, while ${(trickleBatch * 1000) / trickleEveryMs} jobs a second start`,
      aim: null,
    }),
    row({
      name: 'rss_mb',
      value: Math.max(memory.peakMb(), memoryAfter.peakMb()),
      unit: 'MB',
      reference: ['the same process idle after its start', idleMb],
      about: `Largest memory of the control-plane process, ${about}`,
      aim: null,
    }),
  ];
  await second.child.stop();
  return rows;
}

const seconds = (sinceMs: number): string => ((performance.now() - sinceMs) / 1000).toFixed(0);

async function played({ lifetime }: BenchOptions, nodes: number): Promise<TestKubernetes> {
  const kubernetes = await startKubernetes();
  lifetime.add(() => kubernetes.stop());
  await startKwok(kubernetes, nodes, { leaseSeconds });
  return kubernetes;
}

/** A second API server, and a Slurm; where there is none, a third API server. */
async function connectOthers(
  server: ControlPlane,
  options: BenchOptions,
  { otherNodes }: Scale,
): Promise<void> {
  await connect(server, await played(options, otherNodes), 'east', otherNodes, { image });
  const missing = slurmMissing();
  if (missing === null) {
    const slurm = await startSlurm(benchSlurm);
    options.lifetime.add(() => slurm.stop());
    await connectSlurm(server, slurm);
  } else {
    options.progress(`the third cluster is another API server: ${missing}`);
    await connect(server, await played(options, otherNodes), 'south', otherNodes, { image });
  }
  options.progress('three clusters are connected');
}

/** A few jobs at a time, so that what is measured is not how long a queue is. */
async function trickled(server: ControlPlane, big: TestKubernetes, { trickle }: Scale): Promise<number[]> {
  const observed = await observeLags(server.databaseUrl, big.admin, testNamespace);
  const job: JobSpecInput = { ...podJob, name: 'trickle' };
  for (let sent = 0; sent < trickle; sent += trickleBatch) {
    await submitMany(server, trickleBatch, () => job);
    await sleep(trickleEveryMs);
  }
  return observed.all(trickle, trickleWithinMs);
}

async function bareList({ admin }: TestKubernetes): Promise<number> {
  const startedMs = performance.now();
  for (const path of ['/api/v1/nodes', '/api/v1/pods']) {
    let next: string | undefined;
    do {
      const query = new URLSearchParams({ limit: '500', ...(next ? { continue: next } : {}) });
      const page = (await admin.call('GET', `${path}?${query}`)) as { metadata: { continue?: string } };
      next = page.metadata.continue;
    } while (next);
  }
  return (performance.now() - startedMs) / 1000;
}

const sessionsText = 'SELECT session FROM node WHERE known_as IS NOT NULL AND session IS NOT NULL';
const staleText = 'SELECT count(*)::int AS stale FROM node WHERE session = ANY ($1::text[])';

function sessions(databaseUrl: string): Promise<string[]> {
  return withClient(databaseUrl, async (client) =>
    (await client.query<{ session: string }>(sessionsText)).rows.map(({ session }) => session),
  );
}

/** Every node that the old server spoke for is spoken for by the new one. */
function resynced(databaseUrl: string, before: readonly string[]): Promise<void> {
  const endMs = performance.now() + resyncWithinMs;
  return withClient(databaseUrl, async (client) => {
    for (;;) {
      const stale = (await client.query<{ stale: number }>(staleText, [before])).rows[0]?.stale;
      if (stale === 0) return;
      if (performance.now() > endMs) throw new Error(`${stale} nodes are not spoken for by the new server`);
      await sleep(100);
    }
  });
}
