import { describe, expect, test } from 'vitest';
import type { AheadJobView, Change, ChangeKind, OrderRuleView, RoomReport } from './explanation.ts';
import { aheadText, changeEdit, changeText, roomText } from './explanation-text.ts';
import type { JobId } from './ids.ts';

const texts = (change: ChangeKind, victims = 0): readonly [string, string] => [
  changeText({ ...change, victims } as Change),
  changeEdit(change),
];

describe('a change says what to do in words and as an edit', () => {
  const main = { group: 'main', alternative: 0 };
  const second = { group: 'workers', alternative: 1 };
  const cases: readonly [ChangeKind, string, string][] = [
    [
      { kind: 'tasks', group: 'workers', from: 4, to: 1 },
      '1 task in group workers instead of 4',
      'groups.workers.tasks: 1',
    ],
    [
      { kind: 'model', ...main, from: 'H100', to: 'A100' },
      'A100 instead of H100',
      'resources.accelerators.model: A100',
    ],
    [
      { kind: 'devices', ...second, from: 8, to: 4 },
      '4 devices a task instead of 8 in group workers, alternative 2',
      'groups.workers.resources.accelerators[1].count: 4',
    ],
    [
      { kind: 'property', ...main, property: 'memory' },
      'any memory of a device',
      'leave out resources.accelerators.memory',
    ],
    [
      { kind: 'constraint', index: 1, rule: { label: 'zone', op: 'not-in', values: ['x', 'y'] } },
      'without the constraint "zone not in x, y"',
      'leave out constraints[1]',
    ],
    [
      { kind: 'topology', group: null, from: 'rack', to: 'zone' },
      'one zone instead of one rack in the topology',
      'topology.level: zone',
    ],
    [
      { kind: 'topology', group: 'workers', from: 'rack', to: null },
      'without the topology of group workers, which asks for a rack',
      'leave out groups.workers.topology',
    ],
    [
      { kind: 'near', group: 'workers', from: 'rack', to: null },
      'group workers not near another',
      'leave out groups.workers.near',
    ],
    [{ kind: 'exclusive' }, 'sharing its nodes with other jobs', 'exclusive: false'],
    [{ kind: 'tier', from: 'spot', to: 'standard' }, 'tier standard instead of spot', 'tier: standard'],
    [
      { kind: 'time-limit', fromMs: null, toMs: 5_400_000 },
      'a time limit of 1h30m instead of none',
      'timeLimit: 1h30m',
    ],
    [
      { kind: 'time-limit', fromMs: 86_400_000, toMs: 1000 },
      'a time limit of 1s instead of 1d',
      'timeLimit: 1s',
    ],
    [
      { kind: 'ceiling', project: 'a/b', user: 'ada', key: 'memory', from: 1024, to: 2048 },
      'the ceiling of project a/b for user ada raised to 2GiB memory; it is 1GiB memory',
      'quotas of a/b: userCeiling.memory: 2GiB',
    ],
    [
      { kind: 'ceiling', project: 'a', user: null, key: 'gpu', from: 1000, to: null },
      'the ceiling of project a lifted; it is 1 gpu',
      'leave out quotas of a: ceiling.gpu',
    ],
  ];
  test.each(cases)('%o', (change, words, edit) => {
    expect(texts(change)).toEqual([words, edit]);
  });

  test('and how many runs it would stop', () => {
    expect(texts({ kind: 'exclusive' }, 2)[0]).toBe('sharing its nodes with other jobs, by stopping 2 runs');
  });
});

test('who is ahead says why', () => {
  const text = (because: OrderRuleView): string => {
    const job: AheadJobView = { job: 'job_1' as JobId, project: 'p', because };
    return aheadText(job, (at) => `<${at}>`);
  };
  expect(text({ rule: 'starved', since: '5' })).toBe('has waited since <5>, so long that it goes first');
  expect(text({ rule: 'guarantee', theirs: 'red', yours: 'blue' })).toBe(
    'red stays within its guarantee, blue does not',
  );
  expect(text({ rule: 'deadline', latestStart: '7' })).toBe('must start by <7> for its deadline');
  expect(text({ rule: 'expected', theirMs: 90_000, yourMs: 7_200_000 })).toBe(
    'expected to run 1m30s, yours 2h',
  );
  expect(text({ rule: 'expected', theirMs: null, yourMs: 1000 })).toContain('for a time nobody knows');
  expect(text({ rule: 'own-project' })).toBe('goes before a job of your project that goes before yours');
  expect(text({ rule: 'submitted', submittedAt: '9' })).toBe('submitted earlier, <9>');
});

test('what is fragmented is told with the spread, and the best place under a required topology', () => {
  const room: RoomReport = {
    group: 'main',
    key: 'gpu/H100',
    tasks: 4,
    taskMilli: 8000,
    freeMilli: 24_000,
    freeNodes: 5,
    taskNodes: 2,
    tasksFit: 1,
    spread: [
      { freeMilli: 8000, nodes: 2 },
      { freeMilli: 3000, nodes: 2 },
    ],
    place: { level: 'rack', name: 'r1', freeMilli: 11_000, tasksFit: 1 },
  };
  expect(roomText(room)).toBe(
    '24 gpu/H100 are free on 5 nodes (8 on 2, 3 on 2, less on 1); it needs 32 gpu/H100 in all; a task needs 8 on one node: 2 nodes have room for that now, and the largest gang that fits is 1 task of 4; they must be in one rack, and the best is rack r1 with 11 gpu/H100 free, room for 1 task',
  );
});
