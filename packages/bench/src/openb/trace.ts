// The openb folder: one list of nodes, any number of lists of pods, and beside them, where present, the arrival orders and the
// published results of the FGD paper. See the folder's README for the columns.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CalledWrongly } from '../called-wrongly.ts';
import { hasColumns, numberColumn, readCsv, type Table, textColumn } from './csv.ts';

export interface TraceNode {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
  readonly model: string;
}

export interface Pod {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
  /** Thousandths of each of its GPUs; below 1000 it shares one. */
  readonly gpuMilli: number;
  /** Models it may run on; empty for any. */
  readonly models: readonly string[];
}

export interface PodList {
  readonly name: string;
  readonly pods: ReadonlyMap<string, Pod>;
}

const podFile = /(?:^|_)pod_list_(.+?)\.csv(?:\.gz)?$/;
const nodeFile = /(?:^|_)node_list(?:_.*)?\.csv(?:\.gz)?$/;

export interface Folder {
  readonly dir: string;
  /** Path of each pod list by its name, in the order of names. */
  readonly lists: ReadonlyMap<string, string>;
  readonly nodesPath: string;
}

export function openFolder(dir: string): Folder {
  if (!existsSync(dir))
    throw new CalledWrongly(
      `there is no folder ${dir}. It should hold Alibaba's openb trace (github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv): ` +
        'openb_node_list_gpu_node.csv and openb_pod_list_*.csv, plain or gzipped. Say where it is with --dir DIR',
    );
  const files = readdirSync(dir).sort();
  const lists = new Map<string, string>();
  for (const file of files) {
    const name = podFile.exec(file)?.[1];
    if (name !== undefined) lists.set(name, join(dir, file));
  }
  if (lists.size === 0)
    throw new CalledWrongly(`${dir} has no pod lists: files named openb_pod_list_<name>.csv[.gz]`);
  // The published results are of the GPU nodes alone.
  const nodes = files.filter((file) => nodeFile.test(file));
  const chosen = nodes.find((file) => file.includes('gpu_node')) ?? nodes[0];
  if (chosen === undefined)
    throw new CalledWrongly(`${dir} has no node list: a file named openb_node_list_*.csv[.gz]`);
  return { dir, lists, nodesPath: join(dir, chosen) };
}

export function readNodes(path: string): readonly TraceNode[] {
  const table = readCsv(path);
  const name = textColumn(table, 'sn');
  const cpuMilli = numberColumn(table, 'cpu_milli');
  const memoryMib = numberColumn(table, 'memory_mib');
  const gpus = numberColumn(table, 'gpu');
  const model = textColumn(table, 'model', false);
  return table.rows.map((row) => ({
    name: name(row),
    cpuMilli: cpuMilli(row),
    memoryMib: memoryMib(row),
    gpus: gpus(row),
    model: model(row) || 'gpu',
  }));
}

export function readPods(name: string, path: string): PodList {
  const table = readCsv(path);
  const podName = textColumn(table, 'name');
  const cpuMilli = numberColumn(table, 'cpu_milli');
  const memoryMib = numberColumn(table, 'memory_mib');
  const gpus = numberColumn(table, 'num_gpu');
  const gpuMilli = numberColumn(table, 'gpu_milli');
  const spec = textColumn(table, 'gpu_spec', false);
  const pods = new Map<string, Pod>();
  for (const row of table.rows) {
    const models = [...new Set(spec(row).split('|').filter(Boolean))];
    const count = gpus(row);
    // More than one GPU is whole ones; a share is of one.
    const milli = count === 0 ? 0 : count > 1 ? 1000 : Math.min(1000, gpuMilli(row) || 1000);
    pods.set(podName(row), {
      cpuMilli: cpuMilli(row),
      memoryMib: memoryMib(row),
      gpus: count,
      gpuMilli: milli,
      models: count === 0 ? [] : models,
    });
  }
  if (pods.size === 0) throw new CalledWrongly(`${path} has no pods`);
  return { name, pods };
}

/** A file beside the lists, gzipped or not; null when there is none. */
function tableIn(folder: Folder, ...parts: readonly string[]): Table | null {
  for (const end of ['.csv.gz', '.csv']) {
    const path = join(folder.dir, ...parts) + end;
    if (existsSync(path)) return readCsv(path);
  }
  return null;
}

/** Names of pods in the order they arrive, by seed; null when the folder has no order for the list. */
export function readOrders(folder: Folder, list: string): ReadonlyMap<number, readonly string[]> | null {
  const table = tableIn(folder, 'fgd-arrival-order', list);
  if (!table) return null;
  const seed = numberColumn(table, 'seed');
  const sequence = numberColumn(table, 'seq');
  const pod = textColumn(table, 'pod');
  const orders = new Map<number, [sequence: number, pod: string][]>();
  for (const row of table.rows) {
    const order = orders.get(seed(row)) ?? [];
    order.push([sequence(row), pod(row)]);
    orders.set(seed(row), order);
  }
  const sorted = [...orders].sort(([a], [b]) => a - b);
  return new Map(
    sorted.map(([key, order]) => [key, order.sort((a, b) => a[0] - b[0]).map(([, name]) => name)]),
  );
}

/** The published allocation of FGD at 130 % arrived, in percent, mean over its seeds; null when it is not there. */
export function readPublished(folder: Folder, list: string): number | null {
  const table = tableIn(folder, 'fgd-published-results', 'analysis_allo_discrete');
  if (!table || !hasColumns(table, 'workload', 'sc_policy', '130')) return null;
  const workload = textColumn(table, 'workload');
  const policy = textColumn(table, 'sc_policy');
  const allocated = textColumn(table, '130');
  const figures = table.rows
    .filter((row) => workload(row) === `openb_pod_list_${list}` && policy(row).endsWith('FGD'))
    .map((row) => Number(allocated(row)));
  return figures.length === 0 ? null : figures.reduce((sum, x) => sum + x, 0) / figures.length;
}
