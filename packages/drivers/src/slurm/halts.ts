// What an outside hand did to a job in Slurm so that it does not begin or go on, and the command that lets it. We submit no job held,
// for later, or behind another one, and suspend none: what is so was done there. Slurm tells of a hold whether an administrator or
// the job's account did it, and of everything else nobody.
import type { Halt } from '@muster/model';
import type { SlurmJob } from './listing.ts';

const outside = 'not through Muster';
/** The end of the year 9999: Slurm takes any time, a date does not. */
const lastS = 253_402_300_799;

/** Null for a job that only waits for room, or runs. `nowS` is the controller's clock. */
export function haltOf(job: SlurmJob, nowS: number): Halt | null {
  const { id, state, phase, reason, eligibleS } = job;
  const again = job.restarts > 0 ? 'ended, put back into the queue and ' : '';
  if (state === 'SUSPENDED')
    return halt('suspended', `suspended in Slurm, ${outside}; scontrol resume ${id} lets it go on`);
  if (state === 'STOPPED')
    return halt(
      'suspended',
      `stopped in Slurm by a signal, ${outside}; scancel --signal=CONT ${id} lets it go on`,
    );
  if (phase !== 'waits') return null;
  if (isHeld(reason)) {
    const how = `${again}held in Slurm${byWhom(job)}, ${outside}`;
    return halt('held', `${how}; scontrol release ${id} lets it start`);
  }
  if (/^Dependency/.test(reason))
    return halt(
      'delayed',
      `${again}made to wait for another job in Slurm, ${outside}; scontrol update jobid=${id} dependency= lets it start`,
    );
  if (eligibleS <= nowS) return null;
  const until = new Date(Math.min(eligibleS, lastS) * 1000).toISOString().replace('.000Z', 'Z');
  return halt(
    'delayed',
    `${again}delayed in Slurm until ${until}, ${outside}; scontrol update jobid=${id} starttime=now lets it start`,
  );
}

/** Its processes do not run, so no signal of ours reaches them, and Slurm sends none. */
export const isAsleep = ({ state }: SlurmJob): boolean => state === 'SUSPENDED';

const halt = (code: string, message: string): Halt => ({ code, message });

/** "JobHeldAdmin", "JobHeldUser", "JobHoldMaxRequeue". */
const isHeld = (reason: string): boolean => /^JobH[eo]ld/.test(reason);

/** Whoever may release a job that its user holds can also have held it in that name. */
function byWhom({ reason, user }: SlurmJob): string {
  if (reason === 'JobHeldAdmin') return ' by an administrator of it';
  if (reason === 'JobHeldUser') return ` by ${user} (the account that it runs as) or in that name`;
  return ' by itself, because its job began too often';
}
