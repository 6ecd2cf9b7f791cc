// What Prometheus scrapes, in a registry of its own so that two servers in one process do not mix. Base units, _total on counters,
// and no label that grows with users, jobs or nodes. Counts of the fleet come from the store, once a scrape.

import type { ControlPlane } from '@muster/control';
import { jobTransitions, nodeTransitions } from '@muster/model';
import type { Counts, Store } from '@muster/store';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Route } from './route.ts';

export interface Metrics {
  /** Called once a route; the function it returns observes one answer. */
  timer(route: Pick<Route, 'method' | 'path'>): (status: number, elapsedMs: number) => void;
  render(): Promise<{ text: string; contentType: string }>;
}

interface Sources {
  readonly store: Pick<Store, 'counts'>;
  readonly control: Pick<ControlPlane, 'status' | 'agents'>;
  readonly openStreams: () => number;
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics(sources: Sources): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: 'muster_http_request_duration_seconds',
    help: 'Time to answer a request; streams are not counted',
    labelNames: ['route', 'method', 'status'] as const,
    buckets,
    registers: [registry],
  });
  const refresh = fleetGauges(registry, sources);
  return {
    timer({ method, path }) {
      // Resolving labels costs more than observing, and a route answers with few statuses.
      const byStatus = new Map<number, { observe(seconds: number): void }>();
      return (status, elapsedMs) => {
        let child = byStatus.get(status);
        if (!child) {
          child = duration.labels({ route: path, method, status: String(status) });
          byStatus.set(status, child);
        }
        child.observe(elapsedMs / 1000);
      };
    },
    async render() {
      await refresh();
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
}

function fleetGauges(registry: Registry, { store, control, openStreams }: Sources): () => Promise<void> {
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const byState = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['state'] as const, registers });
  const total = (name: string, help: string) => new Counter({ name, help, registers });
  const jobs = byState('muster_jobs', 'Jobs by state; ended ones as long as they are kept');
  const nodes = byState('muster_nodes', 'Nodes by state');
  const quarantined = gauge('muster_nodes_quarantined', 'Nodes that Muster keeps new work off by itself');
  const spared = gauge(
    'muster_nodes_spared',
    'Nodes that would be quarantined, if that did not take too much of their pool',
  );
  const devices = gauge('muster_devices', 'Devices on all nodes that are not removed');
  const devicesUsed = gauge('muster_devices_used', 'Devices held by runs');
  const outbox = gauge('muster_outbox_open', 'Commands to nodes that are not closed yet');
  const leader = gauge('muster_leader', '1 when this server leads');
  const epoch = gauge('muster_epoch', 'Epoch of leadership this server knows');
  const sequence = gauge('muster_engine_sequence', "Last event this server's engine has applied");
  const cycle = gauge('muster_cycle_duration_seconds', 'How long the last cycle of decisions took');
  const connected = gauge('muster_agents_connected', 'Agents connected to this server');
  const refused = new Counter({
    name: 'muster_agent_messages_refused_total',
    help: 'Messages of agents refused since this server started, by why and by whether the agent had proven which node it is',
    labelNames: ['code', 'authenticated'] as const,
    registers,
  });
  const streams = gauge('muster_http_streams_open', 'Event and log streams open on this server');
  const cycles = total('muster_cycles_total', 'Cycles of decisions since this server started');
  const placements = total('muster_placements_total', 'Runs placed since this server started');

  function setCounts(counts: Counts): void {
    for (const state of Object.keys(jobTransitions))
      jobs.set({ state }, counts.jobs[state as keyof Counts['jobs']] ?? 0);
    for (const state of Object.keys(nodeTransitions))
      nodes.set({ state }, counts.nodes[state as keyof Counts['nodes']] ?? 0);
    quarantined.set(counts.quarantined);
    spared.set(counts.spared);
    devices.set(counts.devices);
    devicesUsed.set(counts.devicesUsed);
    outbox.set(counts.outboxOpen);
  }

  return async () => {
    const status = control.status();
    leader.set(status.leading ? 1 : 0);
    epoch.set(status.epoch);
    sequence.set(status.sequence);
    cycle.set((status.lastCycleMs ?? 0) / 1000);
    connected.set(control.agents.connected);
    refused.reset();
    for (const { code, authenticated, count } of control.agents.refused())
      refused.inc({ code, authenticated: String(authenticated) }, count);
    streams.set(openStreams());
    setTotal(cycles, status.cycles);
    setTotal(placements, status.placements);
    // A scrape during a database outage still tells what this process knows, and repeats the counts it saw last.
    const counts = await store.counts().catch(() => null);
    if (counts) setCounts(counts);
  };
}

/** The control plane counts for itself; we only repeat its number. */
function setTotal(counter: Counter, value: number): void {
  counter.reset();
  counter.inc(value);
}
