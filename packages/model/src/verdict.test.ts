import { expect, test } from 'vitest';
import type { NodeId } from './ids.ts';
import { type Lack, passingLacks, type Verdict, verdictText } from './verdict.ts';

const node = 'node_0' as NodeId;
const noRoom = { code: 'no-room', group: 'trainer', tasks: 4, tasksFit: 1, nodes: 12 } as const;
const never = { group: 'main', tasks: 2, tasksFit: 0, nodes: 3 } as const;

test.each<[Verdict, string]>([
  [{ kind: 'placed', nodes: [node] }, 'placed on 1 node'],
  [{ kind: 'placed', nodes: [node, node] }, 'placed on 2 nodes'],
  [
    {
      kind: 'waits',
      reasons: [
        {
          ...noRoom,
          lacks: [
            { lack: 'device-model', nodes: 4 },
            { lack: 'devices-busy', nodes: 7 },
            { lack: 'draining', nodes: 1 },
          ],
        },
      ],
    },
    'waits: group trainer needs room for 4 tasks at once, there is room for 1 now: of 12 nodes, 4 have no such device; 7 have their devices in use; 1 is draining',
  ],
  [
    {
      kind: 'waits',
      reasons: [{ ...noRoom, tasks: 1, tasksFit: 0, nodes: 1, lacks: [{ lack: 'constraint', nodes: 1 }] }],
    },
    'waits: group trainer needs room for 1 task at once, there is room for 0 now: of 1 node, 1 does not match its constraints',
  ],
  [
    { kind: 'waits', reasons: [{ ...noRoom, lacks: [] }] },
    'waits: group trainer needs room for 4 tasks at once, there is room for 1 now',
  ],
  [
    {
      kind: 'waits',
      reasons: [
        { code: 'held', by: 'ann' },
        { code: 'behind', ahead: 1 },
        { code: 'not-before', untilMs: 86_400_000 + 61_001, failures: 2 },
      ],
    },
    'waits: held by ann; behind 1 job in the order; retry 2 waits for its backoff, until 00:01:02 UTC',
  ],
  [{ kind: 'waits', reasons: [{ code: 'behind', ahead: 20 }] }, 'waits: behind 20 jobs in the order'],
  [
    { kind: 'impossible', reasons: [{ code: 'no-nodes', ...never, nodes: 0, lacks: [] }], nearest: [] },
    'impossible: the fleet has no nodes yet',
  ],
  [
    {
      kind: 'impossible',
      reasons: [{ code: 'no-node-fits', ...never, lacks: [{ lack: 'device-count', nodes: 3 }] }],
      nearest: ['8 devices a task', 'model A100'],
    },
    'impossible: no node can ever hold a task of group main: of 3 nodes, 3 have too few such devices. Nearest possible: 8 devices a task; model A100',
  ],
  [
    {
      kind: 'impossible',
      reasons: [{ code: 'gang-too-large', ...never, tasks: 9, tasksFit: 8, lacks: [] }],
      nearest: [],
    },
    'impossible: group main wants 9 tasks at once; the whole fleet, empty, holds 8',
  ],
])('the verdict %j is told as a sentence', (verdict, text) => {
  expect(verdictText(verdict)).toBe(text);
});

const everyLack: Readonly<Record<Lack, true>> = {
  constraint: true,
  'device-model': true,
  'device-count': true,
  'cpu-total': true,
  'memory-total': true,
  draining: true,
  quarantined: true,
  silent: true,
  'devices-busy': true,
  'cpu-busy': true,
  'memory-busy': true,
  exclusive: true,
  'ports-busy': true,
  'resource-busy': true,
  topology: true,
};

test.each(Object.keys(everyLack) as Lack[])('the lack %s agrees with one node and with several', (lack) => {
  const text = (nodes: number) =>
    verdictText({ kind: 'waits', reasons: [{ ...noRoom, nodes: 2, lacks: [{ lack, nodes }] }] }).split(
      'nodes, ',
    )[1];
  expect(text(1)).toMatch(/^1 (has|is|does) /);
  expect(text(2)).toMatch(/^2 (have|are|do) /);
});

test('what passes by itself is told apart from what a node is', () => {
  expect(passingLacks.every((lack) => lack in everyLack)).toBe(true);
  expect(passingLacks).not.toContain('device-model');
});
