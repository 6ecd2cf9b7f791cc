// muster simulate --live: what the server was asked to do in the last days, played as things are and played with a change.
import { type Cli, CliFailure, readPolicy, usage } from '@muster/cli';
import {
  type NodeFacts,
  type NodeId,
  type NodeView,
  nearest,
  type Policy,
  parseDurationMs,
  parsePolicy,
} from '@muster/model';
import { gainsOf, type LiveSetting, liveReplay, liveTrace } from '@muster/sim';
import { printGains } from '../simulate/gains-text.ts';
import { nodeFacts, readPast } from '../simulate/past.ts';
import { costsOf, oneDurations } from '../simulate/request.ts';
import { SimulateProgress } from '../simulate/simulate-progress.ts';
import type { SimulateFlags } from './simulate-flags.ts';

export async function simulateLive(cli: Cli, flags: SimulateFlags): Promise<void> {
  const durations = oneDurations(flags.durations);
  if (durations === 'learned')
    throw usage(
      '--durations learned is for a trace; with --live each policy says itself whether it uses learned run times (runTimes)',
    );
  const costs = costsOf(flags);
  const last = parseDurationMs(flags.last);
  if (!last.ok) throw usage(`--last: ${last.message}`);
  const changed = await policyOf(cli, flags);
  if (!changesSomething(flags))
    throw usage(
      'say what would change: --policy-file FILE, --add-nodes N --like NODE, --lose-node NODE or --lose-cluster NAME',
    );

  const client = cli.client();
  const { project } = await client.whoami();
  if (project !== null)
    throw new CliFailure(
      `--live plays what everybody asked for, and this token sees only ${project} and what is below it; use one that sees every project`,
    );
  const progress = new SimulateProgress(cli);
  const view = await client.policy.get();
  const views: NodeView[] = [];
  for await (const node of client.nodes.all()) views.push(node);
  const usable = views.filter(({ state }) => state !== 'lost' && state !== 'removed');
  const nodes = usable.map(nodeFacts);
  const otherNodes = changedNodes(nodes, flags);
  const past = await readPast(client, cli.nowMs - last.value, cli.nowMs, (part) =>
    progress.show('reading the log', part),
  ).finally(() => progress.clear());
  const live = liveTrace(past.jobs);
  const policy = inForce(view.policy);
  const play = (what: string, setting: LiveSetting) =>
    liveReplay(live, setting, { costs, onProgress: (part) => progress.show(what, part) });
  const before = play('as it is', { nodes, policy, durations });
  const after = play('with the change', { nodes: otherNodes, policy: changed ?? policy, durations });
  progress.clear();
  const gains = gainsOf(live, before, after);
  const told = {
    since: past.since,
    events: past.events,
    jobs: live.trace.count,
    excluded: Object.fromEntries(past.excluded),
    nodes: { before: nodes.length, after: otherNodes.length, leftOut: views.length - usable.length },
    ...gains,
  };
  cli.show(told, () => printGains(cli, told));
}

function changesSomething({ policyFile, addNodes, loseNode, loseCluster }: SimulateFlags): boolean {
  return [policyFile, addNodes, loseNode, loseCluster].some((flag) => flag !== undefined);
}

async function policyOf(cli: Cli, { policyFile }: SimulateFlags): Promise<Policy | null> {
  return policyFile === undefined ? null : (await readPolicy(cli, policyFile)).policy;
}

function inForce(document: unknown): Policy {
  const parsed = parsePolicy(document);
  if (!parsed.ok) throw usage('the policy of the server is of another version than this program knows');
  return parsed.policy;
}

function changedNodes(nodes: readonly NodeFacts[], flags: SimulateFlags): readonly NodeFacts[] {
  const { loseNode = [], loseCluster = [] } = flags;
  const clusters = [...new Set(nodes.map(({ cluster }) => cluster))];
  for (const name of loseCluster)
    if (!clusters.includes(name)) throw unknown('--lose-cluster', name, clusters);
  const lost = new Set(loseNode.map((name) => named('--lose-node', nodes, name).node));
  const left = nodes.filter(({ node, cluster }) => !lost.has(node) && !loseCluster.includes(cluster));
  return [...left, ...addedNodes(nodes, flags)];
}

function addedNodes(nodes: readonly NodeFacts[], { addNodes, like }: SimulateFlags): readonly NodeFacts[] {
  if (addNodes === undefined && like === undefined) return [];
  if (addNodes === undefined || like === undefined)
    throw usage('--add-nodes and --like go together: how many more, and like which node');
  const count = Number(addNodes);
  if (!/^\d+$/.test(addNodes) || count < 1 || count > 100_000)
    throw usage(`--add-nodes wants a whole number from 1 to 100000, got "${addNodes}"`);
  const model = named('--like', nodes, like);
  return Array.from({ length: count }, (_, i) => ({
    ...model,
    node: `${model.node}-${i + 1}` as NodeId,
    name: `${model.name}-${i + 1}`,
    drain: null,
  }));
}

function named(flag: string, nodes: readonly NodeFacts[], idOrName: string): NodeFacts {
  const found = nodes.find(({ node, name }) => node === idOrName || name === idOrName);
  if (found) return found;
  throw unknown(
    flag,
    idOrName,
    nodes.map(({ name }) => name),
  );
}

function unknown(flag: string, word: string, known: readonly string[]): Error {
  const near = nearest(word, known);
  const some = known.slice(0, 10).join(', ') || 'none';
  return usage(`${flag}: there is no "${word}"; ${near ? `did you mean "${near}"?` : `there are: ${some}`}`);
}
