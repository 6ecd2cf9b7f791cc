import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { podsInOrder, shuffledArrivals } from './arrivals.ts';
import { bestFitMilli } from './best-fit.ts';
import { engineMilli } from './through-engine.ts';
import {
  openFolder,
  type Pod,
  readNodes,
  readOrders,
  readPods,
  readPublished,
  type TraceNode,
} from './trace.ts';

function folderWith(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'muster-openb-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), name.endsWith('.gz') ? gzipSync(text) : text);
  }
  return dir;
}

const nodeList = 'sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1024,2,T4\nn1,8000,1024,1,\n';
const podList =
  'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1000,10,1,460,T4|P100\nb,1000,10,2,1000,\nc,500,5,0,0,\n';

const pod = (changes: Partial<Pod>): Pod => ({
  cpuMilli: 1000,
  memoryMib: 1,
  gpus: 1,
  gpuMilli: 1000,
  models: [],
  ...changes,
});
const node = (name: string, changes: Partial<TraceNode> = {}): TraceNode => ({
  name,
  cpuMilli: 8000,
  memoryMib: 1024,
  gpus: 2,
  model: 'T4',
  ...changes,
});

test('lists are read plain and gzipped, with columns that some of them lack', () => {
  const dir = folderWith({
    'openb_node_list_gpu_node.csv.gz': nodeList,
    'openb_node_list_all_node.csv': 'sn\nwrong\n',
    'openb_pod_list_mine.csv': podList,
    'openb_pod_list_five.csv.gz': 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,1,1,1000\n',
  });
  const folder = openFolder(dir);
  expect([...folder.lists.keys()]).toEqual(['five', 'mine']);
  expect(readNodes(folder.nodesPath).map(({ gpus, model }) => [gpus, model])).toEqual([
    [2, 'T4'],
    [1, 'gpu'],
  ]);
  const { pods } = readPods('mine', folder.lists.get('mine')!);
  expect(pods.get('a')).toEqual(pod({ memoryMib: 10, gpuMilli: 460, models: ['T4', 'P100'] }));
  expect(readPods('five', folder.lists.get('five')!).pods.get('x')?.models).toEqual([]);
  expect(readOrders(folder, 'mine')).toBeNull();
  expect(readPublished(folder, 'mine')).toBeNull();
});

test('a folder without what is needed says what to do', () => {
  expect(() => openFolder('/nowhere')).toThrow('there is no folder /nowhere');
  expect(() => openFolder(folderWith({ 'x.csv': '' }))).toThrow('has no pod lists');
  expect(() => openFolder(folderWith({ 'openb_pod_list_a.csv': podList }))).toThrow('has no node list');
});

test('a given order is followed, and a copy asks what its pod asks', () => {
  const dir = folderWith({
    'openb_node_list_gpu_node.csv': nodeList,
    'openb_pod_list_mine.csv': podList,
    'fgd-arrival-order/mine.csv.gz': 'seed,seq,pod\n43,0,c\n42,1,a-tuned-0\n42,0,b\n',
  });
  const folder = openFolder(dir);
  const orders = readOrders(folder, 'mine')!;
  expect([...orders]).toEqual([
    [42, ['b', 'a-tuned-0']],
    [43, ['c']],
  ]);
  const list = readPods('mine', folder.lists.get('mine')!);
  expect(podsInOrder(list, orders.get(42)!).map(({ gpus }) => gpus)).toEqual([2, 1]);
  expect(() => podsInOrder(list, ['gone'])).toThrow('names gone, which is not in its pod list');
});

test('an order of our own is worth 130 % of the GPUs and depends on the seed alone', () => {
  const list = { name: 'x', pods: new Map(['a', 'b', 'c'].map((name, i) => [name, pod({ cpuMilli: i })])) };
  const arrivals = shuffledArrivals(list, 42, 10);
  expect(arrivals).toHaveLength(13);
  expect(new Set(arrivals.slice(0, 3)).size).toBe(3);
  expect(shuffledArrivals(list, 42, 10)).toEqual(arrivals);
  expect(shuffledArrivals(list, 43, 10)).not.toEqual(arrivals);
  expect(shuffledArrivals(list, 42, 1)).toHaveLength(2);
});

test('best fit takes the node with least left over, and shares the fullest GPU', () => {
  const nodes = [node('big', { gpus: 4 }), node('small', { gpus: 1 })];
  // The share goes to the small node and leaves it no whole GPU; four whole ones fit the big one.
  const pods = [pod({ gpuMilli: 500 }), pod({ gpuMilli: 500 }), pod({ gpus: 4 })];
  expect(bestFitMilli(nodes, pods)).toBe(5000);
  expect(bestFitMilli(nodes, [pod({ models: ['V100'] })])).toBe(0);
  expect(bestFitMilli([node('n', { cpuMilli: 1500 })], [pod({}), pod({})])).toBe(1000);
});

test('the engine places pods with shares, several GPUs, models and none at all', () => {
  const nodes = [node('a'), node('b', { model: 'P100' })];
  const pods = [
    pod({ gpuMilli: 600, models: ['P100'] }),
    pod({ gpuMilli: 400, models: ['P100', 'V100'] }),
    pod({ gpus: 2 }),
    pod({ gpus: 0, gpuMilli: 0 }),
    pod({ gpus: 2 }),
    pod({}),
  ];
  expect(engineMilli(nodes, pods)).toBe(4000);
});
