// How late Muster knows: for each run, from the moment that the API server tells of its pod that it runs, to the moment that
// `run.running` is read from the log. Both are seen by this process, so one clock counts.
import type { KubeClient } from '@muster/drivers/kubernetes';
import { marks } from '@muster/drivers/kubernetes';
import { openLogTail } from '../control/log-tail.ts';
import { followPods } from './pod-count.ts';

export interface ObservedLags {
  /** In milliseconds, of so many runs that began since. */
  all(count: number, withinMs: number): Promise<number[]>;
}

const runText = new RegExp(`"${marks.run}":"([^"]+)"`);

export async function observeLags(
  databaseUrl: string,
  client: KubeClient,
  namespace: string,
): Promise<ObservedLags> {
  const toldMs = new Map<string, number>();
  const ending = await followPods(client, namespace, (line) => {
    if (!line.includes('"phase":"Running"')) return;
    const run = runText.exec(line)?.[1];
    if (run !== undefined && !toldMs.has(run)) toldMs.set(run, performance.now());
  });
  const tail = await openLogTail(databaseUrl);
  const knownMs = new Map<string, number>();
  return {
    async all(count, withinMs) {
      const all = tail.until(({ body }) => {
        if (body.kind === 'run.running') knownMs.set(body.run, performance.now());
        return knownMs.size >= count;
      }, withinMs);
      await all.catch((cause: unknown) => {
        const seen = `the API server told of ${toldMs.size} that run, and ${knownMs.size} are known`;
        throw new Error(`${count} runs are not known to run after ${withinMs} ms: ${seen}`, { cause });
      });
      await tail.close();
      ending.close();
      return [...knownMs].flatMap(([run, ms]) => {
        const told = toldMs.get(run);
        // It may be known to Muster first: its watch is as quick as ours.
        return told === undefined ? [] : [Math.max(0, ms - told)];
      });
    },
  };
}
