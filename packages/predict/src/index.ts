export { type Coverage, type Estimate, RunTimes } from './run-times.ts';
export { type Said, saidOf } from './said.ts';
export type { JobTraits } from './traits.ts';
