// Use and queue over time, as means over equal pieces of it: what charts draw.
import type { Played } from '../replay/replay.ts';
import { eachChange } from './changes.ts';

export interface Timeline {
  readonly pieceMs: number;
  /** Devices held by runs. */
  readonly used: Float64Array;
  readonly waitingJobs: Float64Array;
}

export function timeline(played: Played, untilMs: number, pieces: number): Timeline {
  const pieceMs = untilMs / pieces;
  const used = new Float64Array(pieces);
  const waitingJobs = new Float64Array(pieces);
  let devices = 0;
  let waiting = 0;
  let lastMs = 0;
  const advance = (toMs: number): void => {
    while (lastMs < toMs) {
      const piece = Math.min(pieces - 1, Math.floor(lastMs / pieceMs));
      const endMs = piece === pieces - 1 ? toMs : Math.min(toMs, (piece + 1) * pieceMs);
      // The end of a piece may come out as its beginning by rounding.
      const nextMs = endMs > lastMs ? endMs : toMs;
      used[piece]! += (devices * (nextMs - lastMs)) / pieceMs;
      waitingJobs[piece]! += (waiting * (nextMs - lastMs)) / pieceMs;
      lastMs = nextMs;
    }
  };
  eachChange(played, (atMs, job, kind) => {
    advance(Math.min(atMs, untilMs));
    const size = played.trace.size[job]!;
    if (kind === 'comes') waiting++;
    else if (kind === 'leaves') waiting--;
    else if (kind === 'starts') {
      devices += size;
      waiting--;
    } else {
      devices -= size;
      waiting++;
    }
  });
  return { pieceMs, used, waitingJobs };
}
