// muster clusters show: how a cluster is reached, whether it answers, what it has, and what an hour there costs.
import type { ClusterPricesView, ClusterView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { clean } from '../text/clean.ts';
import { moneyText } from '../text/money.ts';
import { paintState } from '../text/style.ts';
import type { Column } from '../text/table.ts';
import { ago, elapsed } from '../text/time.ts';

export function stateOf({ state, drain }: ClusterView): string {
  return state === 'connected' && drain !== null ? 'draining' : state;
}

export function reasonOf({ reason, drain }: ClusterView): string {
  return reason ?? (drain ? `drained by ${drain.by}: ${drain.reason}` : '');
}

export function showCommand(cli: Cli): Command {
  return new Command('show')
    .description(
      'One cluster: how it is reached, whether it answers, what it has, and what an hour there costs.',
    )
    .argument('<cluster>', 'its name')
    .action(
      cli.act(async (name: string) => {
        const { clusters } = cli.client();
        const cluster = await clusters.get(name);
        const prices = cluster.nodes.total === 0 ? [] : (await clusters.prices(name)).items;
        cli.show({ ...cluster, prices }, () => {
          for (const line of lines(cli, cluster)) cli.line(line);
          if (prices.length === 0) return;
          cli.line();
          cli.line(cli.paint('dim', 'What an hour costs, by the prices of the policy:'));
          cli.table(priceColumns, prices);
        });
      }),
    );
}

function lines(cli: Cli, cluster: ClusterView): string[] {
  const { nodes, devices, runs, unproven, drain } = cluster;
  const field = (title: string, value: string): string =>
    `${cli.paint('dim', title.padEnd(11))} ${clean(value)}`;
  const began = stateOf(cluster) === 'draining' && drain ? drain.since : cluster.stateSince;
  const since = began === null ? '' : ` for ${elapsed(began, null, cli.nowMs)}`;
  return [
    `${cli.paint('dim', 'Cluster'.padEnd(11))} ${cli.paint('bold', clean(cluster.name))}  ${cluster.kind}`,
    `${cli.paint('dim', 'State'.padEnd(11))} ${paintState(cli.paint, stateOf(cluster))}${since}`,
    ...(reasonOf(cluster) === '' ? [] : [field('Reason', reasonOf(cluster))]),
    ...(cluster.kind === 'agent' ? [] : [field('Heard', ago(cluster.answeredAt, cli.nowMs))]),
    field('Nodes', `${nodes.open} of ${nodes.total} take work`),
    field('Devices', `${devices.used} of ${devices.total} used`),
    field('Runs', String(runs)),
    ...(unproven === 0 ? [] : [field('Unproven', unprovenText(cluster))]),
    ...(cluster.serverUrl === null
      ? []
      : [field('Server', `${cluster.serverUrl} (MUSTER_SERVER_URL of its jobs)`)]),
    ...configLines(cluster).map(([title, value]) => field(title, value)),
  ];
}

/** What is missing, and what would bring it. */
function unprovenText({ name, kind, unproven, config }: ClusterView): string {
  const what = unproven === 1 ? '1 run may still run there' : `${unproven} runs may still run there`;
  const proof =
    kind === 'agent'
      ? 'their leases end by themselves'
      : `the cluster must answer, or you say that it is gone: muster clusters lost ${name}, or of one node: muster nodes lost NODE`;
  const fence =
    config && config.kind !== 'agent' && config.fencedCheckpoints
      ? `. Jobs that write only where older attempts are refused (checkpoint.fenced) start elsewhere after ${config.lostAfter} without an answer`
      : '';
  return `${what}, and starts nowhere else until its end is proven: ${proof}${fence}`;
}

function configLines({ config }: ClusterView): [string, string][] {
  if (!config) return [];
  return Object.entries(config)
    .filter(
      ([key, value]) => key !== 'kind' && key !== 'serverUrl' && value !== false && !isEmptyRecord(value),
    )
    .map(([key, value]) => [configTitles[key] ?? `${key[0]?.toUpperCase()}${key.slice(1)}`, wordsOf(value)]);
}

/** Of fields whose name is no title, or too long for one. */
const configTitles: Readonly<Record<string, string>> = {
  lostAfter: 'Lost after',
  fencedCheckpoints: 'Fenced',
  imagePullPolicy: 'Pull',
  imagePullSecrets: 'Secrets',
  runtimeClass: 'Runtime',
};

function isEmptyRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** A value as one line: `first 20000, count 1000`; what has parts of its own stands in brackets. */
function wordsOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(inside).join(', ');
  return Object.entries(value)
    .map(([key, one]) => `${key} ${inside(one)}`)
    .join(', ');
}

const inside = (value: unknown): string =>
  typeof value === 'object' && value !== null ? `(${wordsOf(value)})` : wordsOf(value);

const priceColumns: Column<ClusterPricesView['items'][number]>[] = [
  { title: 'POOL', cell: ({ pool }) => pool, importance: 60, least: 6 },
  { title: 'CAPACITY', cell: ({ capacity }) => capacity ?? '-', importance: 80 },
  { title: 'REGION', cell: ({ region }) => region ?? '-', importance: 75 },
  { title: 'INSTANCE', cell: ({ instanceType }) => instanceType ?? '-', importance: 85 },
  { title: 'NODES', cell: ({ nodes }) => String(nodes), align: 'right', importance: 50 },
  {
    title: 'DEVICES',
    cell: ({ devices, device }) => (device ? `${devices} ${device.model}` : '-'),
    importance: 90,
  },
  {
    title: 'DEVICE(h)',
    cell: ({ deviceHour }) => (deviceHour === null ? '-' : moneyText(deviceHour)),
    align: 'right',
    importance: 100,
    fixed: true,
  },
  {
    title: 'CORE(h)',
    cell: ({ coreHour }) => moneyText(coreHour),
    align: 'right',
    importance: 95,
    fixed: true,
  },
];
