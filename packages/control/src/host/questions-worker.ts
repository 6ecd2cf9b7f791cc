// The worker thread's entry: the second engine on its own database connection.
import { loadEngine } from '@muster/engine';
import { openStore } from '@muster/store';
import { createQuestions } from '../questions.ts';
import type { QuestionsAsked } from './questions-protocol.ts';
import { realWorld } from './real-world.ts';
import { workerSide } from './worker-side.ts';

/** Progress is for eyes. */
const progressEveryMs = 100;

const side = workerSide();
const store = await openStore({ url: side.databaseUrl });
const questions = createQuestions({ world: realWorld(side.log), store, load: loadEngine });

side.serve<QuestionsAsked, never>({
  answer(asked, progress, signal): Promise<unknown> {
    switch (asked.what) {
      case 'whatIf':
        return questions.whatIf(asked.question, asked.atLeast);
      case 'score':
        return questions.score(asked.request, asked.known);
      case 'snapshot':
        return questions.snapshot(asked.epoch, asked.bytesMax);
      case 'replay':
        return questions.replay(asked.request, seldom(progress), signal);
    }
  },
  told() {},
  async stop() {
    await questions.stop();
    await store.close();
  },
});

function seldom<T>(tell: (value: T) => void): (value: T) => void {
  let toldMs = 0;
  return (value) => {
    if (performance.now() - toldMs < progressEveryMs) return;
    toldMs = performance.now();
    tell(value);
  };
}
