// What an hour costs on the nodes of a cluster, by the one table of prices, which is the policy's.
import {
  type ClusterPricesView,
  coreHourMicro,
  deviceHourMicro,
  type Prices,
  pricedLabels,
} from '@muster/model';
import type { NodeRow } from '@muster/store';
import * as z from 'zod';
import { presentNodes } from './nodes-of-cluster.ts';
import { notFound } from './problem.ts';
import { param, route } from './route.ts';
import { text, view, whole } from './schema-parts.ts';

const money = z.number().min(0);

const pricesSchema = view<ClusterPricesView>('ClusterPrices', {
  items: z.array(
    z.object({
      pool: text,
      capacity: text.nullable(),
      region: text.nullable(),
      instanceType: text.nullable(),
      device: z
        .object({ kind: text, model: text })
        .nullable()
        .meta({ description: 'null for nodes without devices' }),
      nodes: whole,
      devices: whole,
      deviceHour: money.nullable(),
      coreHour: money,
    }),
  ),
});

type Item = ClusterPricesView['items'][number];

export const clusterPrices = route({
  id: 'clusterPrices',
  method: 'GET',
  path: '/v1/clusters/:name/prices',
  tag: 'clusters',
  summary: "What an hour of a device and of a core costs in a cluster, by the policy's prices",
  access: 'operator',
  answers: { 200: pricesSchema },
  async handle(api, call) {
    const name = param(call, 'name');
    const [nodes, { policy }] = await Promise.all([presentNodes(api, name), api.store.policy()]);
    if (nodes.length === 0 && !(await api.store.clusters()).some((cluster) => cluster.name === name))
      throw notFound('cluster', name);
    return { body: { items: pricesOf(nodes, policy.prices) } satisfies ClusterPricesView };
  },
});

/** Nodes that are alike together, as they come by name. */
function pricesOf(nodes: readonly NodeRow[], prices: Prices): Item[] {
  const items = new Map<string, Item>();
  for (const node of nodes) {
    for (const item of itemsOf(node, prices)) {
      const { nodes: _, devices: __, ...like } = item;
      const key = JSON.stringify(like);
      const before = items.get(key);
      items.set(key, {
        ...item,
        nodes: item.nodes + (before?.nodes ?? 0),
        devices: item.devices + (before?.devices ?? 0),
      });
    }
  }
  return [...items.values()];
}

/** One for each kind of device that it has; of one without, its cores. */
function itemsOf({ cluster, pool, inventory }: NodeRow, prices: Prices): Item[] {
  const labels = { ...inventory.labels, cluster, pool };
  const label = (field: 'capacity' | 'region' | 'instanceType'): string | null =>
    labels[pricedLabels[field] as keyof typeof labels] ?? null;
  const place = {
    pool,
    capacity: label('capacity'),
    region: label('region'),
    instanceType: label('instanceType'),
    nodes: 1,
    coreHour: coreHourMicro(prices, labels) / 1_000_000,
  };
  const kinds = Map.groupBy(inventory.devices, ({ kind, model }) => JSON.stringify([kind, model]));
  if (kinds.size === 0) return [{ ...place, device: null, devices: 0, deviceHour: null }];
  return [...kinds.values()].map((devices) => {
    const { kind, model } = devices[0]!;
    const hour = deviceHourMicro(prices, labels, { kind, model }) / 1_000_000;
    return { ...place, device: { kind, model }, devices: devices.length, deviceHour: hour };
  });
}
