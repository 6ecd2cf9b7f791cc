// What a job of a trace asks of the engine. On nodes: as few tasks as its devices need, each with all devices of a node, and one
// more for the rest. Where devices are merely counted, the machine is one node and its devices are cores.
import type { AcceleratorDemand, GroupDemand, JobDemand } from '@muster/model';
import type { Trace } from '../../traces/trace.ts';

export class Demands {
  readonly #trace: Trace;
  /** Null where devices are counted. */
  readonly #perNode: number | null;
  /** Jobs that ask alike share one object, as they share a shape in the engine. */
  readonly #known = new Map<number, JobDemand>();

  constructor(trace: Trace, perNode: number | null) {
    this.#trace = trace;
    this.#perNode = perNode;
  }

  of(job: number): JobDemand {
    const size = this.#trace.size[job]!;
    const milli = this.#trace.milli[job]!;
    const key = size * 1001 + milli;
    let demand = this.#known.get(key);
    if (!demand) {
      demand = demandOf(this.#perNode === null ? counted(size) : gang(size, milli, this.#perNode));
      this.#known.set(key, demand);
    }
    return demand;
  }
}

function gang(size: number, milli: number, perNode: number): readonly GroupDemand[] {
  if (milli < 1000) return [group('main', 1, milli)];
  if (size <= perNode) return [group('main', 1, size * 1000)];
  const whole = group('main', Math.floor(size / perNode), perNode * 1000);
  const rest = size % perNode;
  return rest === 0 ? [whole] : [whole, group('rest', 1, rest * 1000)];
}

function group(name: string, tasks: number, milli: number): GroupDemand {
  const gpu: AcceleratorDemand = {
    kind: 'gpu',
    model: null,
    milli,
    memoryMib: null,
    interconnect: null,
    generation: null,
    speedMilli: 1000,
  };
  return { name, tasks, cpuMilli: null, memoryMib: null, accelerators: [gpu], topology: null, near: null };
}

function counted(size: number): readonly GroupDemand[] {
  const amounts = { cpuMilli: size * 1000, memoryMib: 0, accelerators: [] };
  return [{ name: 'main', tasks: 1, ...amounts, topology: null, near: null }];
}

function demandOf(groups: readonly GroupDemand[]): JobDemand {
  const shares = groups.some(({ accelerators }) => accelerators.some(({ milli }) => milli < 1000));
  return {
    groups,
    constraints: [],
    preferences: [],
    topology: null,
    capabilities: [
      ...(shares ? ['fractions' as const] : []),
      ...(groups.length > 1 ? ['unlike-groups' as const] : []),
    ],
    exclusive: false,
  };
}
