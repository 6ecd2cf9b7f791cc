import { OperationalError } from '@muster/model';
import { describe, expect, it } from 'vitest';
import { startLoop } from './loop.ts';
import { virtualWorld } from './testing/virtual-world.ts';

const fail = (error: unknown): void => {
  throw error;
};

describe('a loop', () => {
  it('sleeps for the time its step asked', async () => {
    const world = virtualWorld();
    let steps = 0;
    const step = async (): Promise<number> => {
      steps++;
      return 1000;
    };
    const loop = startLoop(world, { name: 'test', step, onBug: fail });
    await world.advance(999);
    expect(steps).toBe(1);
    await world.advance(1);
    expect(steps).toBe(2);
    await loop.stop();
  });

  it('makes one more step for any number of wakes during a step', async () => {
    const world = virtualWorld();
    let steps = 0;
    let finish: () => void = () => {};
    const step = (): Promise<number> => {
      steps++;
      return new Promise((resolve) => {
        finish = () => resolve(60_000);
      });
    };
    const loop = startLoop(world, { name: 'test', step, onBug: fail });
    await world.settle();
    for (let i = 0; i < 10; i++) loop.wake();
    finish();
    await world.settle();
    expect(steps).toBe(2);
    finish();
    await world.settle();
    expect(steps).toBe(2);
    await loop.stop();
  });

  it('rests for as long as its step says, woken or not', async () => {
    const world = virtualWorld();
    let steps = 0;
    const step = async (): Promise<number | { restMs: number }> => (++steps === 1 ? { restMs: 20 } : 60_000);
    const loop = startLoop(world, { name: 'test', step, onBug: fail });
    await world.settle();
    loop.wake();
    await world.advance(19);
    expect(steps).toBe(1);
    await world.advance(1);
    expect(steps).toBe(2);
    await loop.stop();
  });

  it('backs off while the world fails, says so once, and a wake does not hurry it', async () => {
    const world = virtualWorld();
    let steps = 0;
    const step = async (): Promise<number> => {
      steps++;
      throw new OperationalError('unavailable', 'the database is away');
    };
    const loop = startLoop(world, { name: 'test', step, onBug: fail });
    await world.settle();
    loop.wake();
    await world.settle();
    const afterWake = steps;
    await world.advance(10_000);
    expect(afterWake).toBeLessThanOrEqual(2);
    expect(steps).toBeLessThan(20);
    expect(world.logged).toEqual(['test: the database is away']);
    await loop.stop();
  });

  it('is in trouble while its step goes on failing, and no longer', async () => {
    const world = virtualWorld();
    let works = false;
    const step = async (): Promise<number> => {
      if (works) return 1000;
      throw new OperationalError('internal', 'column run.tokens does not exist');
    };
    const loop = startLoop(world, { name: 'test', step, onBug: fail });
    await world.settle();
    expect(loop.trouble()).toBeNull();
    await world.advance(10_000);
    expect(loop.trouble()).toBe('test: column run.tokens does not exist');
    works = true;
    await world.advance(10_000);
    expect(loop.trouble()).toBeNull();
    await loop.stop();
  });

  it('ends with a bug, never swallowing it', async () => {
    const world = virtualWorld();
    const bugs: unknown[] = [];
    const step = async (): Promise<number> => {
      throw new TypeError('broken');
    };
    startLoop(world, { name: 'test', step, onBug: (error) => bugs.push(error) });
    await world.advance(10_000);
    expect(bugs).toHaveLength(1);
  });
});
