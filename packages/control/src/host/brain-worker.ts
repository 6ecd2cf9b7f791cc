// The worker thread's entry: a brain on its own database connection.
import { loadEngine } from '@muster/engine';
import { openStore } from '@muster/store';
import { startBrain } from '../brain.ts';
import type { BrainAsked, BrainTold } from './brain-protocol.ts';
import { realWorld } from './real-world.ts';
import { workerSide } from './worker-side.ts';

const statusEveryMs = 250;

const side = workerSide();
const store = await openStore({ url: side.databaseUrl });
const brain = await startBrain({ world: realWorld(side.log), store, load: loadEngine, onBug: side.onBug });
const statusTimer = setInterval(() => side.status(brain.status()), statusEveryMs);

side.serve<BrainAsked, BrainTold>({
  answer(asked): Promise<unknown> {
    switch (asked.what) {
      case 'explain':
        return brain.explain(asked.job, asked.atLeast);
      case 'verdicts':
        return brain.verdicts(asked.jobs);
      case 'consider':
        return brain.consider(asked.request);
      case 'ledger':
        return brain.ledger(asked.atLeast);
      case 'planned':
        return brain.planned();
    }
  },
  told(told) {
    if (told.what === 'lead') brain.lead(told.epoch);
    else brain.beginAnew();
  },
  async stop() {
    clearInterval(statusTimer);
    await brain.stop();
    await store.close();
  },
});
