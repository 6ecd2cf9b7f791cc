// What Slurm 22.05 printed, recorded, and what it must not be mistaken for.
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJobs, parseNodes } from './listing.ts';

const recorded = (name: string): string =>
  readFileSync(new URL(`./testing/${name}-22.05.json`, import.meta.url), 'utf8');

/** The recorded answer with one field of its first entry changed. */
function changed(name: 'squeue' | 'sinfo', field: string, value: unknown): string {
  const answer = JSON.parse(recorded(name)) as Record<string, Record<string, unknown>[]>;
  const [first] = answer[name === 'squeue' ? 'jobs' : 'nodes'] as Record<string, unknown>[];
  (first as Record<string, unknown>)[field] = value;
  return JSON.stringify(answer);
}

test('a job is read with what it holds of each node', () => {
  expect(parseJobs(recorded('squeue'))).toEqual([
    {
      id: 1,
      name: 'k1',
      comment: 'k1',
      state: 'RUNNING',
      phase: 'holds',
      reason: 'None',
      submittedS: 1794821731,
      eligibleS: 1794821731,
      restarts: 0,
      endS: 1_794_822_331,
      partOf: null,
      user: 'root',
      uses: [
        { node: 'n1', cpus: 2, memoryMib: 200, gres: 'gpu:h100:2(IDX:0-1)' },
        { node: 'n2', cpus: 1, memoryMib: 200, gres: 'gpu:h100:2(IDX:0-1)' },
      ],
    },
  ]);
});

test('a node is read with its devices, features and partitions', () => {
  const [node] = parseNodes(recorded('sinfo'));
  expect(node).toEqual({
    name: 'n1',
    address: '127.0.0.1',
    cpus: 8,
    memoryMib: 4000,
    gres: 'gpu:h100:4',
    features: ['ib', 'rack1'],
    partitions: ['main'],
    usable: true,
    answers: true,
    state: 'mixed',
    reason: '',
  });
});

test('a node that Slurm drains or cannot reach is not usable', () => {
  for (const flag of ['DRAIN', 'NOT_RESPONDING', 'MAINTENANCE'])
    expect(parseNodes(changed('sinfo', 'state_flags', [flag]))[0]).toMatchObject({ usable: false });
  expect(parseNodes(changed('sinfo', 'state', 'down'))[0]).toMatchObject({ usable: false, state: 'down' });
});

describe('an answer that is not understood is refused as a whole', () => {
  test.each([
    ['a state that is not known', 'job_state', 'NAPPING'],
    ['a list of states, as newer versions print', 'job_state', ['RUNNING']],
    ['a number in an object, as newer versions print', 'submit_time', { set: true, number: 1 }],
    ['a negative id', 'job_id', -1],
    ['no name', 'name', null],
  ])('%s', (_, field, value) => {
    expect(() => parseJobs(changed('squeue', field, value))).toThrow(
      `cannot read what squeue printed: jobs.0.${field}`,
    );
  });

  test('an error that Slurm tells of, a page of HTML, nothing', () => {
    expect(() => parseJobs('{"errors": [{"error": "no"}], "jobs": []}')).toThrow('Slurm told of an error');
    expect(() => parseJobs('<html>')).toThrow('squeue printed no JSON: "<html>"');
    expect(() => parseNodes('')).toThrow('sinfo printed no JSON');
  });

  test('a node that is named twice', () => {
    const answer = JSON.parse(recorded('sinfo')) as { nodes: unknown[] };
    answer.nodes.push(answer.nodes[0]);
    expect(() => parseNodes(JSON.stringify(answer))).toThrow('sinfo names a node twice');
  });

  test('one that was cut off anywhere', () => {
    const text = recorded('squeue').trimEnd();
    fc.assert(
      fc.property(fc.integer({ min: 0, max: text.length - 1 }), (length) => {
        expect(() => parseJobs(text.slice(0, length))).toThrow('squeue printed no JSON');
      }),
    );
  });
});
