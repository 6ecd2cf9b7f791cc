// Policies that serve the waiting in one order and stop nobody: first come first served, and the oracles that know run times.
// The strict ones wait for the first in line; the others serve whoever fits.
import { KeyedHeap } from '../replay/keyed-heap.ts';
import { onRoom, type Player, type Policy } from '../replay/replay.ts';
import type { Stage } from '../replay/stage.ts';
import type { Trace } from '../traces/trace.ts';
import { SizedQueues } from './sized-queues.ts';

type Key = (trace: Trace, job: number) => number;

/** Jobs are numbered as they came. */
const byArrival: Key = (_trace, job) => job;
const byRunTime: Key = (trace, job) => trace.runMs[job]!;
const byService: Key = (trace, job) => trace.runMs[job]! * trace.size[job]!;

export const inOrder: readonly Policy[] = [
  policy('fifo', 'first come first served; nobody passes the first in line', strict, byArrival),
  policy('fifo-skip', 'first come first served among those that fit now', skipping, byArrival),
  policy('sjf', 'oracle: shortest run time first; nobody passes the first in line', strict, byRunTime),
  policy('ssf', 'oracle: least service (run time x devices) first; nobody passes', strict, byService),
];

function policy(name: string, about: string, play: (stage: Stage, key: Key) => Player, key: Key): Policy {
  return { name, about, enter: onRoom((stage) => play(stage, key)) };
}

function strict(stage: Stage, key: Key): Player {
  const { trace, room } = stage;
  const waiting = new KeyedHeap();
  return {
    submitted: (job) => waiting.push(key(trace, job), job),
    ended: () => {},
    decide: () => {
      while (waiting.size > 0 && room.fits(trace.size[waiting.top]!)) stage.start(waiting.pop());
    },
  };
}

function skipping(stage: Stage, key: Key): Player {
  const { trace, room } = stage;
  const queues = new SizedQueues();
  return {
    submitted: (job) => queues.push(trace.size[job]!, key(trace, job), job),
    ended: () => {},
    decide: () => {
      for (let queue = queues.firstThatFits(room); queue; queue = queues.firstThatFits(room))
        stage.start(queue.pop());
    },
  };
}
