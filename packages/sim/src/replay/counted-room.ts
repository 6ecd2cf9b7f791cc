// Devices that are merely counted: any of them are as good as any others, as processors in the Standard Workload Format.
import type { Room, Shadow } from './room.ts';

export class CountedRoom implements Room {
  readonly devices: number;
  readonly scattered = 0;
  free: number;

  constructor(devices: number) {
    this.devices = devices;
    this.free = devices;
  }

  fits(size: number): boolean {
    return size <= this.free;
  }

  everFits(size: number): boolean {
    return size <= this.devices;
  }

  take(_job: number, size: number): void {
    this.free -= size;
  }

  give(_job: number, size: number): void {
    this.free += size;
  }

  nodesOf(): readonly number[] {
    return allOnOne;
  }

  shadow(): CountedShadow {
    return new CountedShadow(this.free);
  }

  fitsBeside(size: number, shadow: Shadow): boolean {
    return size <= this.free && size <= shadow.free;
  }

  takeBeside(job: number, size: number, shadow: Shadow): void {
    this.take(job, size);
    shadow.take(size);
  }
}

const allOnOne: readonly number[] = [0];

class CountedShadow implements Shadow {
  free: number;

  constructor(free: number) {
    this.free = free;
  }

  fits(size: number): boolean {
    return size <= this.free;
  }

  give(_job: number, size: number): void {
    this.free += size;
  }

  take(size: number): void {
    this.free -= size;
  }
}
