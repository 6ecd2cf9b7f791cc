/** Moves when the same events could give another plan; every decision records it. */
export const engineVersion = '46';
