export { type Gain, type Gains, gainsOf } from './live/gains.ts';
export { type LiveSetting, liveReplay } from './live/live-replay.ts';
export { type LiveTrace, liveTrace } from './live/live-trace.ts';
export { type Measures, measure } from './metrics/measures.ts';
export {
  asked,
  type Beliefs,
  type BeliefsMaker,
  type Durations,
  durations,
  exact,
} from './policies/beliefs.ts';
export { type MusterOptions, muster } from './policies/muster/muster.ts';
export { musterRow, type PolicyRow, policyRows } from './policies/policies.ts';
export { type Random, seeded } from './random.ts';
export { devicesOf, type Fleet, fleetOf, type Pool } from './replay/fleet.ts';
export { FleetRefused, readFleet } from './replay/fleet-file.ts';
export { type Played, type Player, type Policy, replay } from './replay/replay.ts';
export { type Costs, type Stage, usualCosts } from './replay/stage.ts';
export { type Compared, type Comparison, compare, type Wanted } from './report/compare.ts';
export { differenceText, firstDifference } from './report/first-difference.ts';
export { htmlReport } from './report/html-report.ts';
export { formats } from './traces/formats.ts';
export { type PastEvent, type PastJob, PastJobs } from './traces/past-jobs.ts';
export { readTrace, type TraceRead } from './traces/read-trace.ts';
export { sampleDevicesPerNode, sampleFile, sampleNodes } from './traces/sample.ts';
export { shorterFirst, tieCount, withTies } from './traces/ties.ts';
export type { ReadReport, Trace } from './traces/trace.ts';
export { type TraceFormat, TraceRefused } from './traces/trace-format.ts';
