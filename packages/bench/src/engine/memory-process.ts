// A process of its own with nothing but an engine: 12,500 nodes and a million jobs that wait. Its memory is the figure. It is told
// how many jobs, answers with megabytes, and ends.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fleetNodes } from './place-rows.ts';
import { waitingWorld } from './queue-rows.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const rssMb = (): number => process.memoryUsage.rss() / 1e6;

const idleMb = rssMb();
const fed = waitingWorld(fleetNodes, Number(process.argv[2]));
const loadedMb = rssMb();
collect();
process.send?.({ idleMb, loadedMb, keptMb: rssMb(), sequence: fed.engine.sequence });
