// muster clusters: which there are, whether they answer, and what an operator does to them.
import { type MusterClient, sleep } from '@muster/client';
import type { ClusterLostView, ClusterTestView, ClusterView } from '@muster/model';
import { formatMilli } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { exit } from '../exit-codes.ts';
import { CliFailure, usage } from '../failure.ts';
import { type ConfigFlags, configOf, givenFlags, withConfig } from '../spec/cluster-config.ts';
import { clean } from '../text/clean.ts';
import { paintState } from '../text/style.ts';
import type { Column } from '../text/table.ts';
import { ago } from '../text/time.ts';
import { setCommand } from './cluster-set.ts';
import { reasonOf, showCommand, stateOf } from './cluster-show.ts';
import { movedCode, tellMoved } from './move.ts';
import { sizeText } from './show.ts';

export function clustersCommand(cli: Cli): Command {
  return new Command('clusters')
    .summary('list clusters; connect, test, change, drain and remove them')
    .description('List the clusters: those that were connected, and those that exist by their agents.')
    .action(cli.act(() => list(cli)))
    .addCommand(listCommand(cli))
    .addCommand(showCommand(cli))
    .addCommand(addCommand(cli))
    .addCommand(setCommand(cli))
    .addCommand(testCommand(cli))
    .addCommand(drainCommand(cli))
    .addCommand(undrainCommand(cli))
    .addCommand(lostCommand(cli))
    .addCommand(removeCommand(cli));
}

async function list(cli: Cli): Promise<void> {
  const items: ClusterView[] = [];
  for await (const cluster of cli.client().clusters.all()) items.push(cluster);
  cli.show({ items, next: null }, () => {
    if (items.length === 0)
      cli.line(
        'There is no cluster yet. Connect one:  muster clusters add NAME --kind slurm --directory DIR',
      );
    else cli.table(columns(cli), items);
  });
}

function listCommand(cli: Cli): Command {
  return new Command('list').description('List the clusters.').action(cli.act(() => list(cli)));
}

function columns(cli: Cli): Column<ClusterView>[] {
  return [
    { title: 'CLUSTER', cell: ({ name }) => name, importance: 100, least: 12, fixed: true },
    { title: 'KIND', cell: ({ kind }) => kind, importance: 70 },
    {
      title: 'STATE',
      cell: stateOf,
      paint: (text) => paintState(cli.paint, text),
      importance: 90,
      fixed: true,
    },
    { title: 'NODES', cell: ({ nodes }) => `${nodes.open}/${nodes.total}`, align: 'right', importance: 85 },
    {
      title: 'USED',
      cell: ({ devices }) => `${devices.used}/${devices.total}`,
      align: 'right',
      importance: 80,
    },
    { title: 'RUNS', cell: ({ runs }) => String(runs), align: 'right', importance: 60 },
    { title: 'CAPACITY', cell: ({ config }) => config?.capacity ?? '', importance: 30 },
    { title: 'REGION', cell: ({ config }) => config?.region ?? '', importance: 35 },
    {
      title: 'HEARD',
      cell: ({ kind, answeredAt }) => (kind === 'agent' ? '' : ago(answeredAt, cli.nowMs)),
      importance: 40,
    },
    { title: 'REASON', cell: reasonOf, importance: 65, least: 28 },
  ];
}

function addCommand(cli: Cli): Command {
  const command = new Command('add')
    .summary('connect a cluster')
    .description(
      'Connect a cluster. It is looked at first, and added when it answers; its nodes join within seconds. Example:\n' +
        '  muster clusters add alpha --kind slurm --directory /shared/muster --partition gpu\n' +
        '  muster clusters add west --kind kubernetes --kubeconfig /etc/muster/west.kubeconfig',
    )
    .argument('<name>', 'what it is called here; names of its nodes begin with it');
  return withConfig(command)
    .option('--untested', 'add it although it does not answer now')
    .action(
      cli.act(async (name: string, { untested, ...flags }: ConfigFlags & { untested?: boolean }) => {
        const { config, located } = await configOf(cli, flags);
        const { clusters } = cli.client();
        let expected = 0;
        if (!untested && config.kind !== 'agent') {
          const found = await located(clusters.testConfig(config));
          if (!found.answered)
            throw new CliFailure(
              `${clean(found.error ?? '')}; nothing was added (--untested adds it all the same)`,
            );
          expected = found.nodes.length;
        }
        const added = await located(clusters.add(name, config));
        const cluster = await whenJoined(clusters, added, expected);
        cli.show(cluster, () => {
          const { total } = cluster.nodes;
          const joined = total === 0 ? '' : `; ${total} ${total === 1 ? 'node has' : 'nodes have'} joined`;
          cli.line(`cluster ${clean(name)} is connected${joined}`);
          if (total < expected || untested)
            cli.note(`nodes join as it is looked at; see them with: muster nodes --cluster ${clean(name)}`);
        });
      }),
    );
}

const joinWithinMs = 30_000;
const joinLookMs = 250;

/** The cluster when the leader has told of its nodes, so that the next command finds them; as it is when that takes too long. */
async function whenJoined(
  clusters: MusterClient['clusters'],
  added: ClusterView,
  expected: number,
): Promise<ClusterView> {
  let cluster = added;
  for (let looks = joinWithinMs / joinLookMs; looks > 0 && cluster.nodes.total < expected; looks--) {
    await sleep(joinLookMs);
    cluster = await clusters.get(added.name);
  }
  return cluster;
}

function testCommand(cli: Cli): Command {
  const command = new Command('test')
    .summary('look at a cluster and say what is found')
    .description(
      'Look at a cluster now and say what is found: its nodes, what they have, and what jobs may ask for that it cannot do.\n' +
        'Give the name of a cluster, or a file or flags for one that is not added yet.',
    )
    .argument('[cluster]', 'the name of one that was added');
  return withConfig(command).action(
    cli.act(async (name: string | undefined, flags: ConfigFlags) => {
      if (name !== undefined && givenFlags(flags).length > 0)
        throw usage(
          'give the name of a cluster, or the configuration of one that is not added yet; not both',
        );
      const { clusters } = cli.client();
      const found = await (name === undefined ? testGiven(cli, flags) : clusters.test(name));
      cli.show(found, () => tellTest(cli, found));
      return found.answered ? exit.ok : exit.failed;
    }),
  );
}

async function testGiven(cli: Cli, flags: ConfigFlags): Promise<ClusterTestView> {
  const { config, located } = await configOf(cli, flags);
  return located(cli.client().clusters.testConfig(config));
}

type TestNode = ClusterTestView['nodes'][number];

function tellTest(cli: Cli, { answered, error, settled, nodes, runs, lacks }: ClusterTestView): void {
  if (!answered) {
    cli.line(`no answer: ${clean(error ?? '')}`);
    return;
  }
  const columns: Column<TestNode>[] = [
    { title: 'NODE', cell: ({ name }) => name, importance: 100, fixed: true },
    { title: 'CORES', cell: ({ cpuMilli }) => formatMilli(cpuMilli), align: 'right', importance: 50 },
    { title: 'MEMORY', cell: ({ memoryMib }) => sizeText(memoryMib), align: 'right', importance: 40 },
    { title: 'DEVICES', cell: devicesText, importance: 80 },
    { title: 'LABELS', cell: labelsText, importance: 30, least: 12 },
    { title: 'TAKES WORK', cell: ({ closed }) => closed ?? 'yes', importance: 70, least: 12 },
  ];
  cli.table(columns, nodes);
  const open = nodes.filter(({ closed }) => closed === null).length;
  cli.line();
  cli.line(`it answers: ${open} of ${nodes.length} nodes take work, and it holds ${runs} runs of Muster`);
  if (!settled)
    cli.line(
      'its controller was started a moment ago; nothing is started there until its nodes have reported',
    );
  for (const lack of lacks) cli.line(`- ${lack}`);
}

function devicesText({ devices }: TestNode): string {
  const each = Object.entries(devices).map(([model, count]) => `${count} ${model}`);
  return each.length === 0 ? '-' : each.join(', ');
}

function labelsText({ labels }: TestNode): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}

function drainCommand(cli: Cli): Command {
  return new Command('drain')
    .summary('keep new work off a cluster')
    .description(
      'Keep new work off all nodes of a cluster, those that join later too; what runs there goes on. With --move it goes on\n' +
        'elsewhere: each run is asked for a checkpoint, stopped with its grace and started in another cluster.',
    )
    .argument('<cluster>', 'its name')
    .requiredOption('--reason <text>', 'why, for whoever wonders')
    .option('--move', 'move what runs there to other clusters')
    .option('--to <cluster>', 'with --move: where to')
    .action(
      cli.act(async (name: string, { reason, move, to }: { reason: string; move?: boolean; to?: string }) => {
        if (to !== undefined && !move) throw usage('--to says where runs are moved to, and goes with --move');
        const { clusters } = cli.client();
        const cluster = await clusters.drain(name, reason);
        const moved = move ? (await clusters.move(name, { reason, to })).items : null;
        cli.show(moved ? { ...cluster, moved } : cluster, () => {
          cli.line(`${clean(name)} takes no new work; "muster clusters undrain ${clean(name)}" ends that`);
          if (moved) tellMoved(cli, moved);
        });
        return movedCode(moved ?? []);
      }),
    );
}

function undrainCommand(cli: Cli): Command {
  return new Command('undrain')
    .summary('let new work onto a cluster again')
    .description(
      'Let new work onto the nodes of a cluster again; nodes that were drained one by one stay so.',
    )
    .argument('<cluster>', 'its name')
    .action(
      cli.act(async (name: string) => {
        const cluster = await cli.client().clusters.undrain(name);
        cli.show(cluster, () => cli.line(`${clean(name)} takes new work again`));
      }),
    );
}

function lostCommand(cli: Cli): Command {
  return new Command('lost')
    .summary('give your word that a whole cluster is gone')
    .description(
      'Your word that a cluster is gone, all of it: what ran there counts as ended, and its jobs start elsewhere. If it still runs\n' +
        'they run twice, so be sure: its machines are off, or cut from what jobs write to. Without --yes it only says what it would do.',
    )
    .argument('<cluster>', 'its name')
    .option('--yes', 'you are sure')
    .action(
      cli.act(async (name: string, { yes }: { yes?: boolean }) => {
        const lost = await cli.client().clusters.declareLost(name, { dryRun: !yes });
        cli.show(lost, () => tellLost(cli, lost));
        return yes || lost.nodes === 0 ? exit.ok : exit.failed;
      }),
    );
}

function tellLost(cli: Cli, { cluster, nodes, jobs, done }: ClusterLostView): void {
  const name = clean(cluster);
  const what = `${nodes} ${nodes === 1 ? 'node' : 'nodes'} of ${name}`;
  const works = `${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}`;
  if (nodes === 0) cli.line(`every node of ${name} is lost already`);
  else if (done) cli.line(`${what} are lost; what ran there is over, and ${works} may start elsewhere`);
  else {
    cli.line(`${what} would count as gone, and the runs of ${works} there as ended:`);
    for (const job of jobs) cli.line(`  ${job}`);
    cli.line(
      `If one of them still runs it will run twice. When you are sure: muster clusters lost ${name} --yes`,
    );
  }
}

function removeCommand(cli: Cli): Command {
  return new Command('remove')
    .summary('forget a cluster that holds no work')
    .description('Forget a cluster that holds no work, and its nodes with it. Drain it and wait first.')
    .argument('<cluster>', 'its name')
    .action(
      cli.act(async (name: string) => {
        const cluster = await cli.client().clusters.remove(name);
        cli.show(cluster, () => cli.line(`${clean(name)} is removed, and its nodes with it`));
      }),
    );
}
