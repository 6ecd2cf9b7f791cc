import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NodeRoom } from './node-room.ts';

describe('consolidated best fit', () => {
  test('a job goes to the node with the least room that holds it, of equal ones to the first', () => {
    const room = new NodeRoom(3, 8, 10);
    room.take(0, 5); // node 0: 3 left
    room.take(1, 6); // node 1: 2 left
    expect(room.nodesOf(1)).toEqual([1]);
    room.take(2, 2);
    expect(room.nodesOf(2)).toEqual([1]);
    room.take(3, 4);
    expect(room.nodesOf(3)).toEqual([2]);
    expect(room.scattered).toBe(7);
  });

  test('a larger job takes whole nodes, and its rest the tightest other node', () => {
    const room = new NodeRoom(4, 8, 10);
    room.take(0, 3); // node 0: 5 left
    expect(room.fits(29)).toBe(true);
    expect(room.fits(30)).toBe(false); // 24 on whole nodes, and nowhere 6
    room.take(1, 20);
    expect(room.nodesOf(1)).toEqual([1, 2, 0]);
    room.give(1, 20);
    expect(room.free).toBe(29);
  });
});

test('what fits, and where, is what a look at every node says', () => {
  const step = fc.record({ size: fc.integer({ min: 1, max: 20 }), give: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const [nodes, perNode] = [5, 4];
      const room = new NodeRoom(nodes, perNode, steps.length);
      const free = new Array<number>(nodes).fill(perNode);
      const held: { job: number; size: number; on: [node: number, devices: number][] }[] = [];
      for (const [job, { size, give }] of steps.entries()) {
        const last = give ? held.pop() : undefined;
        if (last) {
          room.give(last.job, last.size);
          for (const [node, devices] of last.on) free[node]! += devices;
        }
        const on = naivePlace(free, perNode, size);
        expect(room.fits(size)).toBe(on !== null);
        if (!on) continue;
        room.take(job, size);
        expect(room.nodesOf(job)).toEqual(on.map(([node]) => node));
        for (const [node, devices] of on) free[node]! -= devices;
        held.push({ job, size, on });
        expect(room.free).toBe(free.reduce((sum, devices) => sum + devices, 0));
      }
    }),
    { numRuns: 300, seed: 5 },
  );
});

function naivePlace(free: readonly number[], perNode: number, size: number): [number, number][] | null {
  const left = [...free];
  const on: [number, number][] = [];
  for (let rest = size; rest > 0; rest -= perNode) {
    const devices = Math.min(rest, perNode);
    const fitting = [...left.keys()].filter((node) => left[node]! >= devices);
    fitting.sort((a, b) => left[a]! - left[b]! || a - b);
    const [best] = fitting;
    if (best === undefined) return null;
    on.push([best, devices]);
    left[best] = 0;
  }
  return on;
}
