// What a piece of work cost each process that had a part in it, in time on a core: that tells where time goes, also on a machine that
// does other things meanwhile.
import { familyCpuMs } from '../control/child.ts';

export interface CpuAccount {
  /** Milliseconds since it was opened, for each of `pieces`. */
  text(pieces: number): string;
}

export function openCpuAccount(processes: Readonly<Record<string, number>>): CpuAccount {
  const before = Object.entries(processes).map(([name, pid]) => [name, pid, familyCpuMs(pid)] as const);
  return {
    text(pieces) {
      const each = before.map(([name, pid, ms]) => [name, (familyCpuMs(pid) - ms) / pieces] as const);
      const sum = each.reduce((total, [, ms]) => total + ms, 0);
      return `${sum.toFixed(1)} ms of a core each (${each.map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ')})`;
    },
  };
}
