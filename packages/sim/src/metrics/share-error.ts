// How far projects are from their share: at moments spread evenly over the replay, the max-min fair share of each project (equal
// weights, nobody gets more than it asks for) less what it holds, where that is positive; summed, as a part of the machine, mean over the moments.
import type { Played } from '../replay/replay.ts';
import { eachChange } from './changes.ts';

const samples = 500;

export function shareError(played: Played): number {
  const { trace, devices } = played;
  const use = new Float64Array(trace.names.projects.length);
  const asks = new Float64Array(use.length);
  let lastEndMs = 0;
  for (const endMs of played.endMs) lastEndMs = Math.max(lastEndMs, endMs);
  const stepMs = lastEndMs / samples;
  if (stepMs === 0) return 0;
  let total = 0;
  let taken = 0;
  eachChange(played, (atMs, job, kind) => {
    for (; taken < samples && (taken + 0.5) * stepMs < atMs; taken++) total += lacking(use, asks, devices);
    const project = trace.project[job]!;
    const size = trace.size[job]!;
    if (kind === 'comes') asks[project]! += size;
    else if (kind === 'leaves') asks[project]! -= size;
    else use[project]! += kind === 'starts' ? size : -size;
  });
  return total / samples;
}

function lacking(use: Float64Array, asks: Float64Array, devices: number): number {
  const level = waterLevel(asks, devices);
  let lack = 0;
  for (let i = 0; i < use.length; i++) lack += Math.max(0, Math.min(asks[i]!, level) - use[i]!);
  return lack / devices;
}

/** The most that everybody may have when nobody gets more than it asks for and all together get what there is. */
export function waterLevel(asks: Float64Array, devices: number): number {
  const ascending = asks.filter((ask) => ask > 0).sort();
  let left = devices;
  for (let i = 0; i < ascending.length; i++) {
    const level = left / (ascending.length - i);
    if (ascending[i]! > level) return level;
    left -= ascending[i]!;
  }
  return Number.POSITIVE_INFINITY;
}
