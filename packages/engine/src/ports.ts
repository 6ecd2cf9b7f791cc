// Rendezvous ports of one node: the taken ones, ascending. A node has few runs, so a plain list is enough.
import { invariant } from '@muster/model';

export interface PortRange {
  readonly first: number;
  readonly count: number;
}

/** The lowest port of the range that is not taken, or -1. Taken ones may lie outside after the range moved. */
export function lowestFree(taken: readonly number[], { first, count }: PortRange): number {
  let port = first;
  for (let i = 0; i < taken.length && taken[i]! <= port; i++) if (taken[i] === port) port++;
  return port < first + count ? port : -1;
}

export function takePort(taken: number[], port: number): void {
  let at = taken.length;
  while (at > 0 && taken[at - 1]! > port) at--;
  invariant(taken[at - 1] !== port, `port ${port} is taken twice`);
  taken.splice(at, 0, port);
}

export function releasePort(taken: number[], port: number): void {
  const at = taken.indexOf(port);
  invariant(at >= 0, `port ${port} is not taken`);
  taken.splice(at, 1);
}
