// How much of the GPUs is in use when pods worth 130 % of them have arrived: the product's placement, and plain best fit as the
// reference. One row a pod list of the folder.
import { isAbsolute, join } from 'node:path';
import { repository } from '../control/child.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { defaultSeeds, podsInOrder, shuffledArrivals } from './arrivals.ts';
import { runSeeds } from './seed-pool.ts';
import type { SeedResult, SeedTask } from './seed-worker.ts';
import {
  type Folder,
  openFolder,
  readNodes,
  readOrders,
  readPods,
  readPublished,
  type TraceNode,
} from './trace.ts';

const defaultDir = '../shared/traces/openb';

/** The command runs in the repository's root, whatever directory it was typed in. */
export function folderOf(given: string | undefined, typedIn: string | undefined): string {
  if (given === undefined) return join(repository, defaultDir);
  return isAbsolute(given) ? given : join(typedIn ?? process.cwd(), given);
}

interface ListPlan {
  readonly name: string;
  readonly tasks: readonly SeedTask[];
  readonly ownOrder: boolean;
  readonly published: number | null;
}

export async function benchOpenb({
  quick,
  values,
  lifetime,
  progress,
}: BenchOptions): Promise<readonly ToldRow[]> {
  const folder = openFolder(folderOf(values.get('--dir'), process.env.INIT_CWD));
  const nodes = readNodes(folder.nodesPath);
  const gpus = nodes.reduce((sum, node) => sum + node.gpus, 0);
  progress(`${nodes.length} nodes with ${gpus} GPUs, ${folder.lists.size} pod lists in ${folder.dir}`);
  const rows: ToldRow[] = [];
  for (const [name, path] of folder.lists) {
    const plan = planList(folder, name, path, nodes, gpus, quick);
    const results = await runSeeds(plan.tasks, lifetime, (at, { oursMilli, bestFitMilli }) =>
      progress(`${name} ${at + 1}: ${percent(oursMilli, gpus)} %, best fit ${percent(bestFitMilli, gpus)} %`),
    );
    rows.push(rowOf(plan, results, gpus));
  }
  return rows;
}

function planList(
  folder: Folder,
  name: string,
  path: string,
  nodes: readonly TraceNode[],
  gpus: number,
  quick: boolean,
): ListPlan {
  const list = readPods(name, path);
  const orders = readOrders(folder, name);
  const arrivals = orders
    ? [...orders.values()].map((order) => podsInOrder(list, order))
    : defaultSeeds.map((seed) => shuffledArrivals(list, seed, gpus));
  const tasks = arrivals.slice(0, quick ? 2 : arrivals.length).map((pods) => ({ nodes, pods }));
  return { name, tasks, ownOrder: orders === null, published: readPublished(folder, name) };
}

function percent(milli: number, gpus: number): string {
  return (milli / (gpus * 10)).toFixed(2);
}

function rowOf(
  { name, tasks, ownOrder, published }: ListPlan,
  results: readonly SeedResult[],
  gpus: number,
): ToldRow {
  const mean = (of: (result: SeedResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0) / results.length / (gpus * 10);
  const order = ownOrder ? 'a seeded shuffle' : "FGD's arrival order";
  return row({
    name,
    value: mean((result) => result.oursMilli),
    unit: '%',
    reference: ['plain best fit', mean((result) => result.bestFitMilli)],
    about: `GPUs in use after 130 % arrived, mean of ${tasks.length} orders (${order})`,
    aim: published === null ? null : `above the ${published.toFixed(2)} % that FGD published`,
  });
}
