// S1: what is sold of a node is never more than it has, and is sold only while the node takes work: it answers, is not drained
// and belongs to the fleet. A run holds what it has until its end is proven.
import type { EventBody, NodeId, RunId, TaskPlacement } from '@muster/model';
import { wholeDevice } from '@muster/model';
import { must } from './job-log.ts';

interface Node {
  readonly held: Held;
  cpuMilli: number;
  memoryMib: number;
  devices: number;
  ready: boolean;
  drained: boolean;
}

interface Held {
  cpuMilli: number;
  memoryMib: number;
  readonly devices: number[];
}

export class SoldRoom {
  readonly #nodes = new Map<NodeId, Node>();

  read(body: EventBody): void {
    switch (body.kind) {
      case 'node.joined':
      case 'node.changed': {
        const { cpuMilli, memoryMib, devices } = body.inventory;
        const held = this.#nodes.get(body.node)?.held ?? { cpuMilli: 0, memoryMib: 0, devices: [] };
        const [ready, drained] = [body.state === 'ready', body.drain !== null];
        this.#nodes.set(body.node, { held, cpuMilli, memoryMib, devices: devices.length, ready, drained });
        return;
      }
      case 'node.ready':
      case 'node.silent':
      case 'node.lost':
        this.#set(body.node, { ready: body.kind === 'node.ready' });
        return;
      case 'node.drained':
      case 'node.undrained':
        this.#set(body.node, { drained: body.kind === 'node.drained' });
        return;
      case 'node.removed':
        this.#remove(body.node);
        return;
      case 'run.planned':
        for (const task of body.tasks) this.#take(body.run, task);
        return;
      default:
    }
  }

  giveBack(task: TaskPlacement): void {
    const { held } = this.#node(task.node);
    held.cpuMilli -= task.cpuMilli;
    held.memoryMib -= task.memoryMib;
    for (const device of task.devices) held.devices[device] = (held.devices[device] ?? 0) - task.deviceMilli;
  }

  /** One that has not joined yet tells all of it when it does. */
  #set(id: NodeId, change: Partial<Pick<Node, 'ready' | 'drained'>>): void {
    const node = this.#nodes.get(id);
    if (node) Object.assign(node, change);
  }

  #node(id: NodeId): Node {
    const node = this.#nodes.get(id);
    must(node !== undefined, 'S1', () => `${id} is one that nobody knows`);
    return node;
  }

  #take(run: RunId, task: TaskPlacement): void {
    const node = this.#node(task.node);
    const { held } = node;
    must(
      node.ready && !node.drained,
      'S1',
      () => `${run} is on ${task.node}, which ${node.ready ? 'is drained' : 'does not answer'}`,
    );
    held.cpuMilli += task.cpuMilli;
    held.memoryMib += task.memoryMib;
    must(
      held.cpuMilli <= node.cpuMilli && held.memoryMib <= node.memoryMib,
      'S1',
      () => `${run} oversells ${task.node}`,
    );
    for (const device of task.devices) {
      held.devices[device] = (held.devices[device] ?? 0) + task.deviceMilli;
      must(
        device < node.devices && (held.devices[device] ?? 0) <= wholeDevice,
        'S1',
        () => `${run} is sold device ${device} of ${task.node}, which is another's`,
      );
    }
  }

  /** A node leaves only when nothing of it is sold. */
  #remove(id: NodeId): void {
    const { held } = this.#nodes.get(id) ?? {};
    const empty = !held || [held.cpuMilli, held.memoryMib, ...held.devices].every((sold) => sold === 0);
    must(empty, 'S1', () => `${id} is removed while a run holds part of it`);
    this.#nodes.delete(id);
  }
}
