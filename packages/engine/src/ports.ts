// Rendezvous ports of one node: the taken ones, ascending. A node has few runs, so a plain list is enough.
import { invariant } from '@muster/model';

/** The lowest of so many ports from the first that is not taken, or -1. Taken ones may lie outside after the range moved. */
export function lowestFree(taken: readonly number[], first: number, count: number): number {
  const last = taken.length - 1;
  // Mostly the lowest ones are taken, without a gap.
  const isDense = last < 0 || (taken[0] === first && taken[last] === first + last);
  const port = isDense ? first + last + 1 : firstGap(taken, first);
  return port < first + count ? port : -1;
}

function firstGap(taken: readonly number[], first: number): number {
  let port = first;
  for (let i = 0; i < taken.length && taken[i]! <= port; i++) if (taken[i] === port) port++;
  return port;
}

export function takePort(taken: number[], port: number): void {
  let at = taken.length;
  while (at > 0 && taken[at - 1]! > port) at--;
  if (taken[at - 1] === port) invariant(false, `port ${port} is taken twice`);
  if (at === taken.length) taken.push(port);
  else taken.splice(at, 0, port);
}

export function releasePort(taken: number[], port: number): void {
  const at = taken.lastIndexOf(port);
  if (at < 0) invariant(false, `port ${port} is not taken`);
  if (at === taken.length - 1) taken.pop();
  else taken.splice(at, 1);
}
