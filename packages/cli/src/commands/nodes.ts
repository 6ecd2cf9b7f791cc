// muster nodes: the fleet, one node, and what an operator does to nodes that are gone or new.
import type { MusterClient } from '@muster/client';
import { formatMilli, type NodeView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { repeatedly, type View } from '../repeatedly.ts';
import { inFlags } from '../spec/from-flags.ts';
import { clean } from '../text/clean.ts';
import { paintState } from '../text/style.ts';
import type { Column } from '../text/table.ts';
import { ago, elapsed, localTime } from '../text/time.ts';
import { sizeText } from './show.ts';

export function nodesCommand(cli: Cli): Command {
  return new Command('nodes')
    .summary('list nodes, or show one; add and remove them')
    .description('List the nodes of the fleet, or show one.')
    .argument('[node]', 'an id or a name')
    .option('--cluster <name>', 'only of this cluster')
    .option('--watch', 'show it again when something changes')
    .action(
      cli.act((node: string | undefined, flags: { cluster?: string; watch?: boolean }) => {
        const client = cli.client();
        return repeatedly(cli, client, flags.watch ?? false, () =>
          node === undefined ? list(cli, client, flags.cluster) : one(cli, client, node),
        );
      }),
    )
    .addCommand(trustCommand(cli))
    .addCommand(lostCommand(cli))
    .addCommand(removeCommand(cli))
    .addCommand(tokenCommand(cli));
}

async function list(cli: Cli, client: MusterClient, cluster: string | undefined): Promise<View> {
  const items: NodeView[] = [];
  for await (const node of client.nodes.all({ cluster, limit: 1000 })) items.push(node);
  if (isData(cli)) return { value: { items, next: null } };
  if (items.length === 0)
    return [
      cluster === undefined
        ? 'There is no node yet.'
        : `No node is in a cluster ${clean(cluster)}; the clusters:  muster clusters`,
      'Add one:  muster nodes token   and then on the machine   muster agent --server URL --token-file FILE',
      cluster === undefined
        ? 'Or connect a cluster:  muster clusters add NAME --help'
        : `Slurm and Kubernetes bring theirs when they answer:  muster clusters show ${clean(cluster)}`,
    ];
  return [...cli.tableLines(columns(cli), items), '', summary(cli, items)];
}

function isData(cli: Cli): boolean {
  return cli.globals.output === 'json' || cli.globals.output === 'yaml';
}

/** What people look for first: how much is free. */
function summary(cli: Cli, nodes: readonly NodeView[]): string {
  const devices = nodes.flatMap((node) => node.devices.map((device) => ({ ...device, open: isOpen(node) })));
  const free = devices.filter(({ used, open }) => open && !used).length;
  const ready = nodes.filter(isOpen).length;
  const idle = devices.length === 0 ? 'none has devices' : `${free} of ${devices.length} devices are free`;
  const text = `${ready} of ${nodes.length} nodes take work; ${idle}`;
  return cli.paint('dim', text);
}

function isOpen(node: NodeView): boolean {
  return node.state === 'ready' && node.drain === null;
}

export function nodeState(node: NodeView): string {
  if (node.state !== 'ready' || node.drain === null) return node.state;
  return node.drain.quarantine ? 'quarantined' : 'draining';
}

/** Since when it is what `nodeState` says. */
function stateSince(node: NodeView): string {
  return node.state === 'ready' && node.drain !== null ? node.drain.since : node.stateSince;
}

function reason(node: NodeView): string {
  if (node.drain?.quarantine) return `${node.drain.reason}; end it with: muster undrain ${node.name}`;
  if (node.drain) return `drained by ${node.drain.by}: ${node.drain.reason}`;
  if (node.strikes?.spared)
    return `its agent sent ${node.strikes.count} bad messages; not quarantined, because too much of its pool would be`;
  return node.stateReason?.message ?? '';
}

function strikesText({ strikes }: NodeView, nowMs: number): string[] {
  if (strikes === null) return [];
  const { count, code, detail, last, until } = strikes;
  return [
    `${count}, the last ${ago(last, nowMs)}: ${detail} (${code}); they count until ${localTime(until, nowMs)}`,
  ];
}

/** "H100 x8" for one model, "4 H100, 4 A100" for several. */
function models(node: NodeView): string {
  const counts = new Map<string, number>();
  for (const { model, kind } of node.devices) counts.set(model || kind, (counts.get(model || kind) ?? 0) + 1);
  return counts.size === 0 ? '-' : [...counts].map(([model, n]) => `${n} ${model}`).join(', ');
}

function columns(cli: Cli): Column<NodeView>[] {
  const used = (node: NodeView): string =>
    node.devices.length === 0
      ? '-'
      : `${node.devices.filter((device) => device.used).length}/${node.devices.length}`;
  return [
    { title: 'NODE', cell: (node) => node.name, importance: 100, least: 16, fixed: true },
    { title: 'ID', cell: (node) => node.id, importance: 1, wide: true },
    {
      title: 'STATE',
      cell: nodeState,
      paint: (text) => paintState(cli.paint, text),
      importance: 90,
      fixed: true,
    },
    { title: 'DEVICES', cell: models, importance: 80, least: 8 },
    { title: 'USED', cell: used, align: 'right', importance: 85 },
    {
      title: 'CORES',
      cell: (node) => `${formatMilli(node.cpuMilliUsed)}/${formatMilli(node.cpuMilli)}`,
      align: 'right',
      importance: 50,
    },
    {
      title: 'MEMORY',
      cell: (node) => `${sizeText(node.memoryMibUsed)}/${sizeText(node.memoryMib)}`,
      align: 'right',
      importance: 40,
    },
    { title: 'CLUSTER', cell: (node) => node.cluster, importance: 20, least: 7 },
    { title: 'POOL', cell: (node) => node.pool, importance: 15, least: 6 },
    { title: 'ADDRESS', cell: (node) => node.address, importance: 1, wide: true },
    { title: 'AGENT', cell: (node) => node.agentVersion ?? '-', importance: 1, wide: true },
    { title: 'HEARD', cell: (node) => ago(node.renewedAt, cli.nowMs), importance: 30 },
    { title: 'REASON', cell: reason, importance: 60, least: 28 },
  ];
}

async function one(cli: Cli, client: MusterClient, name: string): Promise<View> {
  const node = await client.nodes.get(name);
  if (isData(cli)) return { value: node };
  const field = (title: string, value: string): string =>
    `${cli.paint('dim', title.padEnd(11))} ${clean(value)}`;
  const labels = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`);
  const devices: Column<NodeView['devices'][number]>[] = [
    { title: '  DEVICE', cell: ({ index }) => String(index), align: 'right', importance: 100 },
    { title: 'MODEL', cell: ({ model }) => model, importance: 90 },
    { title: 'KIND', cell: ({ kind }) => kind, importance: 20 },
    {
      title: 'MEMORY',
      cell: ({ memoryMib }) => (memoryMib === 0 ? '-' : sizeText(memoryMib)),
      align: 'right',
      importance: 50,
    },
    { title: 'LINK', cell: ({ interconnect }) => interconnect ?? '', importance: 45 },
    {
      title: 'GENERATION',
      cell: ({ generation }) => (generation === undefined ? '' : String(generation)),
      align: 'right',
      importance: 40,
    },
    { title: 'USED', cell: ({ used }) => (used ? 'yes' : 'no'), importance: 80 },
    { title: 'UUID', cell: ({ uuid }) => uuid, importance: 10, least: 8 },
  ];
  return [
    `${cli.paint('dim', 'Node'.padEnd(11))} ${cli.paint('bold', clean(node.name))}  ${node.id}`,
    `${cli.paint('dim', 'State'.padEnd(11))} ${paintState(cli.paint, nodeState(node))} for ${elapsed(stateSince(node), null, cli.nowMs)}`,
    ...(reason(node) === '' ? [] : [field('Reason', reason(node))]),
    ...strikesText(node, cli.nowMs).map((text) => field('Strikes', text)),
    ...(node.trust === 1 ? [] : [field('Trust', `${node.trust}; jobs go elsewhere where they can`)]),
    field('Cluster', `${node.cluster}  pool ${node.pool}`),
    field('Address', node.address),
    field('Cores', `${formatMilli(node.cpuMilliUsed)} of ${formatMilli(node.cpuMilli)} used`),
    field('Memory', `${sizeText(node.memoryMibUsed)} of ${sizeText(node.memoryMib)} used`),
    field('Heard', ago(node.renewedAt, cli.nowMs)),
    field(
      'Agent',
      `${agentText(node)}, ${node.isolation ? 'separates users' : 'no isolation between users'}`,
    ),
    ...(labels.length === 0 ? [] : [field('Labels', labels.join('  '))]),
    ...(node.devices.length === 0 ? [] : ['', ...cli.tableLines(devices, node.devices)]),
  ];
}

function agentText({ agentVersion }: NodeView): string {
  return agentVersion === 'cluster' ? 'none, its cluster speaks for it' : (agentVersion ?? 'never connected');
}

function trustCommand(cli: Cli): Command {
  return new Command('trust')
    .summary('say how far a node is trusted')
    .description(
      'Say how far work on a node is trusted to come to its end, from 0 to 1. What is missing is added to the price that\n' +
        '"muster score" shows, so that jobs go elsewhere where they can. What runs there goes on.',
    )
    .argument('<node>', 'an id or a name')
    .argument('<trust>', 'from 0 to 1; 1 is full trust')
    .action(
      cli.act(async (name: string, text: string) => {
        if (!/^(0(\.\d{1,3})?|1(\.0{1,3})?)$/.test(text))
          throw usage(`"${clean(text)}" is no trust; write a number from 0 to 1, such as 0.8`);
        const node = await cli.client().nodes.trust(name, Number(text));
        cli.show(node, () => cli.line(`${clean(node.name)} is trusted at ${node.trust}`));
      }),
    );
}

function lostCommand(cli: Cli): Command {
  return new Command('lost')
    .summary('give your word that a machine is gone')
    .description(
      'Your word that a machine is gone: everything on it counts as ended, and its jobs start elsewhere.',
    )
    .argument('<node>', 'an id or a name')
    .action(
      cli.act(async (name: string) => {
        const node = await cli.client().nodes.declareLost(name);
        cli.show(node, () => cli.line(`${clean(node.name)} is lost; what ran there is over`));
      }),
    );
}

function removeCommand(cli: Cli): Command {
  return new Command('remove')
    .summary('forget a node that holds no work')
    .description(
      'Forget a node that holds no work and takes none. Drain it and wait first, or stop its agent, or declare it lost.',
    )
    .argument('<node>', 'an id or a name')
    .action(
      cli.act(async (name: string) => {
        const node = await cli.client().nodes.remove(name);
        cli.show(node, () =>
          cli.line(`${clean(node.name)} is removed; its agent ends, and comes back only with a new token`),
        );
      }),
    );
}

function tokenCommand(cli: Cli): Command {
  return new Command('token')
    .summary('make a token with which a machine enrols')
    .description('Make a token with which machines enrol as nodes. It is shown once, on stdout.')
    .option('--cluster <name>', 'the cluster they belong to')
    .option('--pool <name>', 'the pool they belong to')
    .option('--uses <n>', 'how many machines may use it; 1 when left out')
    .option('--expires-in <duration>', 'how long it is good for; 1h when left out')
    .action(
      cli.act(async (flags: { cluster?: string; pool?: string; uses?: string; expiresIn?: string }) => {
        const { cluster, pool, expiresIn } = flags;
        const uses = flags.uses === undefined ? undefined : Number(flags.uses);
        const client = cli.client();
        const made = await client.nodes.createEnrolment({ cluster, pool, uses, expiresIn }).catch(inFlags);
        const known =
          cluster === undefined || (await client.nodes.list({ cluster, limit: 1 })).items.length > 0;
        cli.show(made, () => {
          cli.line(made.token);
          if (!known) cli.note(`no node is in cluster ${clean(cluster ?? '')} yet: this token begins it`);
          cli.note(
            `good until ${localTime(made.expiresAt, cli.nowMs)}; on the machine, with the token in a file:`,
          );
          cli.note(`  muster agent --server ${cli.connection().server} --token-file FILE`);
        });
      }),
    );
}
