// A placement names devices by their position, so positions must not move under running tasks: when a GPU falls off the bus, the
// driver's list closes ranks, and the place of the next one would be sold while a task still runs on it. So while tasks
// are held, every device keeps its place, a missing one leaves a place that fits no request, and new ones come last.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Device } from '@muster/model';
import { type StateDir, writeDurably } from '../state-dir.ts';

/** The kind of a place whose device is gone. Not a name, so that no job can ask for it. */
export const missingKind = '(missing)';

export function keepSlots(before: readonly Device[], found: readonly Device[]): Device[] {
  const left = new Map(found.map((device) => [device.uuid, device]));
  const kept = before.map((slot): Device => {
    const device = left.get(slot.uuid);
    left.delete(slot.uuid);
    return device ?? { ...slot, kind: missingKind, memoryMib: 0 };
  });
  return [...kept, ...left.values()].map((device, index) => ({ ...device, index }));
}

/** Remembers the places across restarts of the agent, which the tasks outlive. */
export class Slots {
  readonly #path: string;
  #last: readonly Device[];

  constructor(dir: StateDir) {
    this.#path = join(dir.private, 'devices.json');
    this.#last = readDevices(this.#path);
  }

  /** `busy`: tasks are held, so nothing may move. */
  arrange(found: readonly Device[], busy: boolean): readonly Device[] {
    const next = busy ? keepSlots(this.#last, found) : found;
    if (JSON.stringify(next) === JSON.stringify(this.#last)) return next;
    this.#last = next;
    try {
      writeDurably(this.#path, JSON.stringify(next));
    } catch {
      // A full disk: this process still knows, and the next change is written again.
    }
    return next;
  }
}

function readDevices(path: string): readonly Device[] {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as unknown;
    return Array.isArray(found) ? (found as Device[]) : [];
  } catch {
    return [];
  }
}
