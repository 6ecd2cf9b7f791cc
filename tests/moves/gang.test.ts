// One spec file of a real job of two processes runs as a gang on Slurm, in pods and on machines with agents, and is moved from each to
// another while it runs. Its step counter never goes back by more than one checkpoint, and no step is counted by two at a time.
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobId } from '@muster/model';
import { expect, it } from 'vitest';
import { onStarted } from '../harness/on-started.ts';
import { eventually } from '../harness/processes.ts';
import { startThreeClusters, threeClustersMissing } from '../harness/three-clusters.ts';

const spec = join(import.meta.dirname, 'gang.yaml');
const withinMs = 180_000;
const testTimeoutMs = 900_000;
/** Every ten steps, as the spec says. */
const stepsBetween = 10;

interface Line {
  readonly attempt: number;
  readonly step: number;
  readonly node: string;
}

onStarted('a gang', threeClustersMissing(), startThreeClusters, (three) => {
  it(
    'goes on from cluster to cluster, step by step',
    async () => {
      const { system, checkpoints } = three();
      const { client, muster } = system;
      const { code, output } = await muster('submit', '-f', spec);
      expect(code, output).toBe(0);
      const job = /job_[0-9a-z]+/.exec(output)?.[0] as JobId;
      const file = (name: string): string => join(checkpoints, job, name);
      const lines = (): Line[] =>
        readFileSync(file('log'), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => {
            const [attempt, step, node = ''] = line.split(' ');
            return { attempt: Number(attempt), step: Number(step), node };
          });
      const cluster = (name: string): string => /^(alpha|west)-/.exec(name)?.[1] ?? 'home';
      /** The attempt has counted more than one checkpoint, so that there is something to lose; where that was. */
      const counting = (attempt: number): Promise<string> =>
        eventually(`attempt ${attempt} counts (logs in ${system.dir})`, withinMs, () => {
          const own = lines().filter((line) => line.attempt === attempt);
          return own.length > stepsBetween ? cluster(own[0]!.node) : null;
        });
      const ring = ['alpha', 'west', 'home'];
      const first = await counting(1);
      const way = [1, 2, 3].map((n) => ring[(ring.indexOf(first) + n) % ring.length]!);
      for (const [i, to] of way.entries()) {
        const moved = await muster('move', job, '--to', to, '--reason', 'a new switch');
        expect(moved, moved.output).toMatchObject({ code: 0 });
        expect(await counting(i + 2)).toBe(to);
      }
      appendFileSync(file('finish'), '');
      const detail = await system.ended(job, withinMs);
      expect(detail.result).toEqual({ outcome: 'succeeded' });
      expect(detail).toMatchObject({ id: job, attempt: 4 });
      expect(detail.runs.slice(0, 3).map(({ result }) => result)).toMatchObject(
        Array(3).fill({ class: 'preemption', reason: { code: 'moved' } }),
      );
      // As a gang: both tasks of each attempt in one cluster, and no attempt beside another.
      for (const { tasks } of detail.runs) {
        expect(tasks).toHaveLength(2);
        expect(new Set(tasks.map(({ nodeName }) => cluster(nodeName))).size).toBe(1);
      }
      const all = lines();
      for (const [i, line] of all.entries()) {
        const before = all[i - 1] ?? { attempt: 1, step: 0 };
        if (line.attempt === before.attempt) expect(line.step).toBe(before.step + 1);
        else {
          expect(line.attempt).toBe(before.attempt + 1);
          expect(line.step).toBeLessThanOrEqual(before.step + 1);
          expect(line.step).toBeGreaterThan(before.step - stepsBetween);
        }
      }
      expect(new Set(all.map(({ node }) => cluster(node)))).toEqual(new Set(ring));
      // Whoever was asked has told of its work where it can be heard: everywhere but in pods.
      const events = await client.events.list({ job });
      const told = events.items.filter(({ kind }) => kind === 'run.checkpointed');
      expect(told.length).toBeGreaterThan(0);
    },
    testTimeoutMs,
  );
});
