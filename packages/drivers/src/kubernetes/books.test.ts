// What is kept of pods and nodes as they change: a look must cost what changed, so what did not change must stay the same object.
import type { RunId } from '@muster/model';
import { describe, expect, it } from 'vitest';
import { NodeBook } from './node-book.ts';
import type { KubeNode, OtherPod, OurPod } from './objects.ts';
import { PodBook } from './pod-book.ts';

const runOf = (n: number): RunId => `run_00000000000000000${n}_1` as RunId;
const pod = (run: RunId, rank: number, more: Partial<OurPod> = {}): OurPod => ({
  name: `${run}-${rank}`,
  uid: `${run}/${rank}`,
  run,
  installation: 'ours',
  rank,
  tasks: 1,
  tombstone: false,
  node: 'a',
  meant: 'a',
  graceS: 5,
  deleting: false,
  finalizers: [],
  gates: [],
  cutShort: false,
  phase: 'Running',
  reason: '',
  message: '',
  disruption: null,
  stop: null,
  askedWaitS: null,
  takenMs: null,
  deadlineS: null,
  container: { is: 'running' },
  ...more,
});

describe('our pods', () => {
  const play = () => {
    const forgotten = new Set<RunId>();
    const book = new PodBook((run) => forgotten.has(run));
    const told = (node: string) =>
      book
        .reports()
        .get(node)
        ?.map(({ run, rank, state }) => `${run} ${rank} ${state}`);
    return { book, forgotten, told };
  };

  it('are told by node, and the list of a node changes only with its own pods', () => {
    const { book, told } = play();
    const [one, two] = [pod(runOf(1), 0), pod(runOf(2), 0, { node: 'b' })];
    book.change(null, one);
    book.change(null, two);
    expect([told('a'), told('b')]).toEqual([[`${runOf(1)} 0 running`], [`${runOf(2)} 0 running`]]);
    const [before, other] = [book.reports().get('a'), book.reports().get('b')];
    const ended = pod(runOf(2), 0, { node: 'b', phase: 'Succeeded' });
    book.change(two, ended);
    expect(told('b')).toEqual([`${runOf(2)} 0 ended`]);
    expect(book.reports().get('a')).toBe(before);
    expect(book.reports().get('b')).not.toBe(other);
  });

  it('of a gang are told on all their nodes once the last of them is bound, and not before', () => {
    const { book, told } = play();
    const unbound = pod(runOf(1), 1, { node: null, meant: 'b', phase: 'Pending', container: { is: 'none' } });
    book.change(null, pod(runOf(1), 0));
    book.change(null, unbound);
    expect([told('a'), told('b')]).toEqual([undefined, undefined]);
    book.change(unbound, { ...unbound, node: 'b' });
    expect([told('a'), told('b')]).toEqual([[`${runOf(1)} 0 running`], [`${runOf(1)} 1 accepted`]]);
  });

  it('are told no more when they are gone or forgotten', () => {
    const { book, forgotten, told } = play();
    const [one, two] = [pod(runOf(1), 0), pod(runOf(2), 0)];
    book.change(null, one);
    book.change(null, two);
    expect(told('a')).toHaveLength(2);
    book.change(one, null);
    expect(told('a')).toEqual([`${runOf(2)} 0 running`]);
    forgotten.add(runOf(2));
    book.touch(runOf(2));
    expect(book.reports().has('a')).toBe(false);
    expect(book.of(runOf(2))).toEqual([two]);
  });
});

describe('nodes', () => {
  const node = (name: string, uid = name): KubeNode => ({
    name,
    uid,
    labels: {},
    address: name,
    cpuMilli: 1000,
    memoryMib: 1000,
    devices: {},
    ready: true,
    cordoned: false,
    taints: [],
  });
  const other = (on: string, cpuMilli: number): OtherPod => ({
    node: on,
    cpuMilli,
    memoryMib: 1,
    devices: {},
  });

  it('are the same object until they or what others hold of them change', () => {
    const book = new NodeBook();
    book.changeNode(null, node('a'));
    book.changeNode(null, node('b'));
    const [a, b] = [book.all().get('a'), book.all().get('b')];
    const first = other('a', 100);
    book.changeOther(null, first);
    expect(book.all().get('a')?.taken).toEqual({ cpuMilli: 100, memoryMib: 1, devices: {} });
    expect(book.all().get('a')).not.toBe(a);
    expect(book.all().get('b')).toBe(b);
    const same = book.all().get('a');
    const again = other('a', 100);
    book.changeOther(first, again);
    expect(book.all().get('a')).toBe(same);
    book.changeOther(again, null);
    expect(book.all().get('a')?.taken).toBeUndefined();
  });

  it('that were made again under their name stay, whichever is told first', () => {
    const book = new NodeBook();
    const [old, fresh] = [node('a', 'one'), node('a', 'two')];
    book.changeNode(null, old);
    book.changeNode(null, fresh);
    book.changeNode(old, null);
    expect(book.get('a')).toBe(fresh);
    book.changeNode(fresh, null);
    expect(book.all().size).toBe(0);
  });
});
