// Several pools: a job is placed in one of them, the first in the fleet's order that has room for it. Gangs do not span pools.
import type { NodeRoom } from './node-room.ts';
import type { Room, Shadow } from './room.ts';

export class PooledRoom implements Room {
  readonly devices: number;
  readonly #rooms: readonly NodeRoom[];
  readonly #pool: Int16Array;

  constructor(rooms: readonly NodeRoom[], jobs: number) {
    this.#rooms = rooms;
    this.#pool = new Int16Array(jobs);
    this.devices = rooms.reduce((sum, { devices }) => sum + devices, 0);
  }

  get free(): number {
    return this.#rooms.reduce((sum, { free }) => sum + free, 0);
  }

  get scattered(): number {
    return this.#rooms.reduce((sum, { scattered }) => sum + scattered, 0);
  }

  fits(size: number): boolean {
    return this.#rooms.some((room) => room.fits(size));
  }

  everFits(size: number): boolean {
    return this.#rooms.some((room) => room.everFits(size));
  }

  take(job: number, size: number): void {
    this.#pool[job] = this.#rooms.findIndex((room) => room.fits(size));
    this.#rooms[this.#pool[job]!]!.take(job, size);
  }

  give(job: number, size: number): void {
    this.#rooms[this.#pool[job]!]!.give(job, size);
  }

  nodesOf(job: number): readonly number[] {
    const pool = this.#pool[job]!;
    const before = this.#rooms.slice(0, pool).reduce((sum, { nodes }) => sum + nodes, 0);
    return this.#rooms[pool]!.nodesOf(job).map((node) => before + node);
  }

  shadow(): PooledShadow {
    return new PooledShadow(
      this.#rooms.map((room) => room.shadow()),
      (job) => this.#pool[job]!,
    );
  }

  fitsBeside(size: number, shadow: Shadow): boolean {
    return this.#beside(size, shadow as PooledShadow) >= 0;
  }

  takeBeside(job: number, size: number, shadow: Shadow): void {
    const at = this.#beside(size, shadow as PooledShadow);
    this.#pool[job] = at;
    this.#rooms[at]!.takeBeside(job, size, (shadow as PooledShadow).pools[at]!);
  }

  #beside(size: number, shadow: PooledShadow): number {
    return this.#rooms.findIndex((room, i) => room.fitsBeside(size, shadow.pools[i]!));
  }
}

class PooledShadow implements Shadow {
  readonly pools: readonly Shadow[];
  readonly #poolOf: (job: number) => number;

  constructor(pools: readonly Shadow[], poolOf: (job: number) => number) {
    this.pools = pools;
    this.#poolOf = poolOf;
  }

  get free(): number {
    return this.pools.reduce((sum, { free }) => sum + free, 0);
  }

  fits(size: number): boolean {
    return this.pools.some((pool) => pool.fits(size));
  }

  give(job: number, size: number): void {
    this.pools[this.#poolOf(job)]!.give(job, size);
  }

  take(size: number): void {
    this.pools.find((pool) => pool.fits(size))!.take(size);
  }
}
