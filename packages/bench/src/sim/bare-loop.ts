// The same jobs through an event loop that does nothing: each starts when it comes and ends after its run time, no machine, no policy, no books. What a
// replay adds to this is the policy.
import type { Trace } from '@muster/sim';

export function bareLoop(trace: Trace): number {
  const ends: number[] = [];
  let next = 0;
  let over = 0;
  while (next < trace.count || ends.length > 0) {
    if (next < trace.count && (ends.length === 0 || trace.submitMs[next]! <= ends[0]!)) {
      push(ends, trace.submitMs[next]! + trace.runMs[next]!);
      next++;
    } else {
      pop(ends);
      over++;
    }
  }
  return over;
}

function push(heap: number[], value: number): void {
  let at = heap.push(value) - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    if (heap[up]! <= value) break;
    heap[at] = heap[up]!;
    at = up;
  }
  heap[at] = value;
}

function pop(heap: number[]): void {
  const value = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (let down = 1; down < heap.length; down = 2 * at + 1) {
    if (down + 1 < heap.length && heap[down + 1]! < heap[down]!) down++;
    if (value <= heap[down]!) break;
    heap[at] = heap[down]!;
    at = down;
  }
  heap[at] = value;
}
