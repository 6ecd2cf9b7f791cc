// What a server tells Prometheus, read from a scrape of an idle one.
import { createMetrics } from '../../packages/api/src/metrics.ts';
import { code, page, table } from './markdown.ts';

type Sources = Parameters<typeof createMetrics>[0];

const idle = {
  store: {
    counts: async () => ({
      jobs: {},
      nodes: {},
      quarantined: 0,
      spared: 0,
      outboxOpen: 0,
      devices: 0,
      devicesUsed: 0,
    }),
  },
  control: {
    status: () => ({
      leading: true,
      epoch: 1,
      sequence: 0,
      queued: 0,
      lastCycleMs: 0,
      cycles: 0,
      placements: 0,
      troubles: [],
    }),
    agents: {
      connected: 0,
      refused: () => [{ code: 'bad-message', authenticated: true, count: 0 }],
    } as unknown as Sources['control']['agents'],
  },
  openStreams: () => 0,
} satisfies Sources;

export async function metricsPage(): Promise<string> {
  const metrics = createMetrics(idle);
  metrics.timer({ method: 'GET', path: '/v1/jobs' })(200, 1);
  const { text } = await metrics.render();
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  const rows = [...text.matchAll(/^# HELP (muster_\S+) (.*)$/gm)].map(([, name = '', help = '']) => {
    const sample = new RegExp(`^${name}(?:_bucket)?\\{([^}]*)\\}`, 'm').exec(text)?.[1] ?? '';
    const labels = [...sample.matchAll(/(\w+)=/g)]
      .map(([, label]) => label ?? '')
      .filter((label) => label !== 'le');
    return [code(name), types.get(name) ?? '', labels.map(code).join(', '), help];
  });
  return page(
    'Metrics',
    'At `/metrics`, in the format of Prometheus: a viewer token, unless the server listens on loopback only. Each server tells of itself; counts of jobs, nodes and devices are the same on all. The usual metrics of a Node process are there too.',
    table(['metric', 'type', 'labels', 'meaning'], rows),
  );
}
