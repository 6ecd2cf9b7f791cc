// Seeds that found something, kept and run in the tests. What a seed draws changes when the worlds change, so each names what
// it found; the defect itself has a test of its own where it was.
export const foundSeeds: readonly { readonly seed: number; readonly found: string }[] = [
  { seed: 1, found: 'a drain of a machine that has never spoken stopped every engine' },
  { seed: 67, found: 'a leader that lost its lease and took it again never decided anything more' },
  { seed: 235, found: 'nobody had said what becomes of a claim when a ceiling is lowered before it starts' },
  { seed: 374, found: 'room kept for a job whose start had moved stopped the engine' },
  { seed: 2099, found: 'room kept for a job whose start had moved stopped the engine' },
];
