// The brain seen from the main thread: the same interface, answered over messages by brain-worker.ts.
import type { JobId, Ledger, PlannedJob, Verdict } from '@muster/model';
import type { Brain, BrainStatus } from '../brain.ts';
import type { Explained } from '../control-plane.ts';
import type { Log } from '../world.ts';
import type { BrainAsked, BrainTold } from './brain-protocol.ts';
import { linkWorker } from './worker-link.ts';

export interface BrainThreadOptions {
  readonly databaseUrl: string;
  readonly log: Log;
  /** The brain is gone and will not come back: the process must end and start clean. */
  readonly onBug: (error: unknown) => void;
}

export async function startBrainThread({ databaseUrl, log, onBug }: BrainThreadOptions): Promise<Brain> {
  let status: BrainStatus = { sequence: 0, cycles: 0, placements: 0, lastCycleMs: null, trouble: null };
  let started = false;
  const link = linkWorker<BrainAsked, BrainTold>({
    entry: 'brain-worker',
    databaseUrl,
    log,
    name: 'the engine thread',
    onStatus: (next) => {
      status = next as BrainStatus;
    },
    // Before it was ready, whoever waits for it hears why.
    onGone: (error) => {
      if (started) onBug(error);
    },
  });
  await link.ready;
  started = true;
  return {
    lead: (epoch) => link.tell({ what: 'lead', epoch }),
    beginAnew: () => link.tell({ what: 'begin-anew' }),
    explain: (job, atLeast) => link.ask<Explained>({ what: 'explain', job, atLeast }),
    verdicts: (jobs) => link.ask<ReadonlyMap<JobId, Verdict>>({ what: 'verdicts', jobs }),
    consider: (request) => link.ask<Explained>({ what: 'consider', request }),
    ledger: (atLeast) => link.ask<Ledger>({ what: 'ledger', atLeast }),
    planned: () => link.ask<readonly PlannedJob[]>({ what: 'planned' }),
    status: () => status,
    stop: () => link.stop(),
  };
}
