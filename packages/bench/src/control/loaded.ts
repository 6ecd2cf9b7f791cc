// The API while the control plane is at work: a thousand agents, a hundred thousand queued jobs, and jobs ending and being
// placed all the time. Requests come at a fixed rate, so a stall shows in every request that was due meanwhile.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@muster/drivers/testing';
import type { FleetCounts } from '../fleet/simulated-agent.ts';
import { type Fleet, startFleet } from '../fleet/start-fleet.ts';
import { requestText } from '../load/http-connection.ts';
import { type Latency, openLoop } from '../load/open-loop.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { quantile } from '../statistics.ts';
import { bareMixP99Ms } from './bare-mix.ts';
import { cpuMs, rssMb } from './child.ts';
import { watchMemory } from './memory.ts';
import { loadedProjects, queuedJob } from './sample-jobs.ts';
import { submitMany } from './submit-many.ts';
import type { Bed, ControlPlane } from './system.ts';

const devicesPerNode = 8;
const meanRunMs = 30_000;
const perSecond = 100;
const pageLimit = 50;

interface Scale {
  readonly nodes: number;
  readonly jobs: number;
  readonly fillWithinMs: number;
  readonly durationMs: number;
}

export async function measureLoaded(
  bed: Bed,
  server: ControlPlane,
  options: BenchOptions,
): Promise<ToldRow[]> {
  const scale: Scale = options.quick
    ? { nodes: 200, jobs: 20_000, fillWithinMs: 8000, durationMs: 8000 }
    : { nodes: 1000, jobs: 100_000, fillWithinMs: 45_000, durationMs: 25_000 };
  const idleMb = rssMb(server.child.pid);
  const fleet = await startFleet(bed.lifetime, server, { nodes: scale.nodes, devicesPerNode, meanRunMs });
  options.progress(`${scale.nodes} agents are connected`);
  const filledMs = performance.now();
  const ids = await submitJobs(server, scale);
  options.progress(
    `${ids.length} jobs are queued after ${((performance.now() - filledMs) / 1000).toFixed(1)} s`,
  );
  await untilBusy(fleet, scale.nodes, options.progress);
  const before = fleet.counts();
  const cpuBeforeMs = cpuMs(server.child.pid);
  const memory = watchMemory(server.child);
  const latencies = await mix(server, ids, scale.durationMs).finally(memory.end);
  const peakMb = memory.peakMb();
  const after = fleet.counts();
  const cores = (cpuMs(server.child.pid) - cpuBeforeMs) / scale.durationMs;
  options.progress(`the control plane used ${cores.toFixed(2)} cores meanwhile`);
  tellWork(options, before, after, scale.durationMs, latencies);
  await fleet.child.stop();
  await server.child.stop();
  const limitMs = await bareMixP99Ms(bed, server.databaseUrl, perSecond, options.quick ? 3000 : 8000);
  return rows({ ...scale, jobs: ids.length }, latencies, limitMs, idleMb, peakMb);
}

function rows(
  scale: Scale,
  latencies: readonly Latency[],
  limitMs: number,
  idleMb: number,
  peakMb: number,
): ToldRow[] {
  const load = `${scale.nodes.toLocaleString('en')} agents and ${scale.jobs.toLocaleString('en')} queued jobs`;
  return [
    row({
      name: 'loaded_api_p99_ms',
      value: quantile(
        latencies.map(({ ms }) => ms),
        0.99,
      ),
      unit: 'ms',
      reference: [
        'reads and writes of single rows through bare Fastify on an idle machine, same rate',
        limitMs,
      ],
      about: `99th percentile of ${perSecond} requests a second (get, list, submit, why) with ${load}`,
      aim: '< 100 ms',
    }),
    row({
      name: 'loaded_rss_mb',
      value: peakMb,
      unit: 'MB',
      reference: ['the same process idle after its start', idleMb],
      about: `Largest memory of the control-plane process meanwhile, with ${load}`,
      aim: '< 1,000 MB',
    }),
  ];
}

async function submitJobs(server: ControlPlane, { jobs, fillWithinMs }: Scale): Promise<string[]> {
  for (const project of loadedProjects) await server.client.projects.create(project);
  return submitMany(server, jobs, queuedJob, fillWithinMs);
}

/** Until the first wave of starts is through: from then on, jobs start because others end. */
async function untilBusy(fleet: Fleet, nodes: number, progress: (line: string) => void): Promise<void> {
  const wanted = nodes * 2;
  await eventually(`${wanted} jobs have started`, 60_000, () => fleet.counts().started >= wanted);
  let last = -1;
  // The wave is over when a second starts no more than what ends.
  for (let i = 0; i < 20; i++) {
    const { started, ended } = fleet.counts();
    const running = started - ended;
    if (last >= 0 && running - last < nodes / 20) break;
    last = running;
    await sleep(1000);
  }
  const { started, ended } = fleet.counts();
  progress(`${started - ended} jobs run, ${ended} have ended`);
}

const kinds = ['get', 'list', 'get', 'submit', 'get', 'list', 'get', 'why', 'list', 'why'] as const;

function mix(
  { target, token }: ControlPlane,
  ids: readonly string[],
  durationMs: number,
): Promise<Latency[]> {
  const anyId = (): string => ids[Math.floor(Math.random() * ids.length)] ?? '';
  const get = (path: string): string => requestText({ method: 'GET', path, token });
  const request = (i: number): { kind: string; text: string } => {
    const kind = kinds[i % kinds.length] ?? 'get';
    switch (kind) {
      case 'get':
        return { kind, text: get(`/v1/jobs/${anyId()}`) };
      case 'list':
        return {
          kind,
          text: get(`/v1/jobs?limit=${pageLimit}&project=${loadedProjects[i % 4]}&state=queued`),
        };
      case 'why':
        return { kind, text: get(`/v1/jobs/${anyId()}/why`) };
      case 'submit': {
        const body = JSON.stringify(queuedJob(i));
        return {
          kind,
          text: requestText({ method: 'POST', path: '/v1/jobs', token, key: randomUUID(), body }),
        };
      }
    }
  };
  return openLoop({ target, perSecond, durationMs, request });
}

function tellWork(
  { progress }: BenchOptions,
  before: FleetCounts,
  after: FleetCounts,
  durationMs: number,
  latencies: readonly Latency[],
): void {
  const perS = (n: number): string => (n / (durationMs / 1000)).toFixed(0);
  progress(
    `meanwhile ${perS(after.started - before.started)} starts/s, ${perS(after.ended - before.ended)} ends/s`,
  );
  for (const kind of new Set(kinds)) {
    const ms = latencies.filter((one) => one.kind === kind).map((one) => one.ms);
    const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)];
    progress(`  ${kind.padEnd(6)} p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, of ${ms.length}`);
  }
}
