// One replay in a process of its own, so that its time and memory are nobody else's: reads the file, plays it, computes the measures, and answers with
// how long each took. It is told the file, the policy and the machine.
import { fleetOf, measure, policyRows, readTrace, replay } from '@muster/sim';
import { bareLoop } from './bare-loop.ts';

export interface ReplayTimes {
  readonly jobs: number;
  readonly readS: number;
  readonly playS: number;
  readonly measureS: number;
  /** Time on a core of all three together, which says more than the clock where other work takes the cores. */
  readonly coreS: number;
  readonly bareS: number;
  readonly idleMb: number;
  readonly rssMb: number;
  readonly avgWaitS: number;
}

const [file = '', policyName = '', nodes = '0', perNode = '0'] = process.argv.slice(2);
const idleMb = process.memoryUsage.rss() / 1e6;

const secondsOf = <T>(work: () => T): [T, number] => {
  const beganMs = performance.now();
  const done = work();
  return [done, (performance.now() - beganMs) / 1000];
};

const began = process.cpuUsage();
const beganMs = performance.now();
const { trace } = await readTrace(file);
const readS = (performance.now() - beganMs) / 1000;
const policy = policyRows.find(({ name }) => name === policyName)!.make('asked');
const [played, playS] = secondsOf(() => replay(trace, fleetOf(Number(nodes), Number(perNode)), policy));
const [measures, measureS] = secondsOf(() => measure(played));
const { user, system } = process.cpuUsage(began);
const [, bareS] = secondsOf(() => bareLoop(trace));
const times: ReplayTimes = {
  jobs: trace.count,
  readS,
  playS,
  measureS,
  coreS: (user + system) / 1e6,
  bareS,
  idleMb,
  // The system counts in kilobytes of 1024.
  rssMb: (process.resourceUsage().maxRSS * 1024) / 1e6,
  avgWaitS: measures.avgWaitS,
};
process.send?.(times);
