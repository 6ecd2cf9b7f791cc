/** How often a node beats: a fifth of the shortest stopAfter of the runs it holds, within these bounds. */
export const longestBeatMs = 10_000;
export const shortestBeatMs = 200;
