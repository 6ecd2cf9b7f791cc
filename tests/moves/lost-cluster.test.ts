// A whole cluster dies while twenty jobs run over three: nothing runs twice, what is proven over starts elsewhere, the rest says which
// proof is missing; and when the cluster is back, or an operator has spoken, all ends well. Takes six minutes, so it runs when asked for:
//   npm run test:lost-cluster
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leftoversOf, processesOf } from '@muster/drivers/testing';
import type { JobDetail, JobId } from '@muster/model';
import { expect, it } from 'vitest';
import { expectIdle } from '../faults/proof.ts';
import { startNodeAgain } from '../harness/kubernetes-node.ts';
import { onStarted } from '../harness/on-started.ts';
import { eventually } from '../harness/processes.ts';
import { startThreeClusters, type ThreeClusters, threeClustersMissing } from '../harness/three-clusters.ts';

const withinMs = 240_000;
/** A Slurm that is back takes minutes to miss what it ran. */
const testTimeoutMs = 900_000;
/** Several seconds of one attempt. */
const quietLines = 10;
const names = ['alpha', 'west', 'home'] as const;
type Name = (typeof names)[number];

/** Writes a line every moment, in the directory that is its job's wherever it runs, until it finds that it may end. */
const command = [
  'sh',
  '-c',
  'umask 0; until [ -e "$MUSTER_CHECKPOINT_DIR/finish" ]; do echo "$MUSTER_ATTEMPT" >> "$MUSTER_CHECKPOINT_DIR/log"; sleep 0.3; done',
];

function lostClusters(three: () => ThreeClusters): void {
  const nodesOf = async (name: Name): Promise<string[]> =>
    (await three().system.client.nodes.list({ cluster: name })).items.map((node) => node.name);
  const linesOf = (job: JobId): number[] =>
    readFileSync(join(three().checkpoints, job, 'log'), 'utf8')
      .trim()
      .split('\n')
      .map(Number);

  /** So many jobs run in the cluster. */
  async function runningIn(name: Name, count: number): Promise<JobId[]> {
    const { system } = three();
    const others = (await Promise.all(names.filter((one) => one !== name).map(nodesOf))).flat();
    for (const node of others) await system.client.nodes.drain(node, 'for a moment');
    const jobs: JobId[] = [];
    for (let i = 0; i < count; i++)
      jobs.push(
        await system.submit({
          name: `${name}-${i}`,
          command,
          resources: { cpus: 0.1, memory: '16MiB' },
          stopAfter: '25s',
          retry: { infrastructure: 20 },
        }),
      );
    for (const job of jobs) await system.inState(job, 'running', withinMs);
    for (const job of jobs) await eventually(`${job} writes`, withinMs, () => linesOf(job).length > 0);
    for (const node of others) await system.client.nodes.undrain(node);
    return jobs;
  }

  const details = (jobs: readonly JobId[]): Promise<JobDetail[]> =>
    Promise.all(jobs.map((job) => three().system.client.jobs.get(job)));

  /** Once a line of an attempt is there, none of an earlier one follows. */
  const expectOneAtATime = (jobs: readonly JobId[]): void => {
    for (const job of jobs) {
      const lines = linesOf(job);
      expect(lines, job).toEqual(lines.toSorted((a, b) => a - b));
    }
  };

  async function endAll(jobs: readonly JobId[]): Promise<void> {
    const { system, checkpoints } = three();
    for (const job of jobs) writeFileSync(join(checkpoints, job, 'finish'), '');
    for (const job of jobs)
      expect((await system.ended(job, withinMs)).result, job).toEqual({ outcome: 'succeeded' });
    expectOneAtATime(jobs);
    await eventually('nothing is held', withinMs, () => expectIdle(system).then(() => true));
  }

  const kills: Record<'alpha' | 'west', (clusters: ThreeClusters) => Promise<() => Promise<void>>> = {
    async alpha({ slurm }) {
      await slurm.controller.end('SIGKILL');
      for (const slurmd of slurm.slurmd.values()) await slurmd.end('SIGKILL');
      killAll(() => processesOf(slurm.dir).filter((pid) => !commandLine(pid).startsWith('munged')));
      return async () => {
        slurm.controller.start();
        for (const slurmd of slurm.slurmd.values()) slurmd.start();
        await slurm.ready();
      };
    },
    async west({ kubernetes, kubelets }) {
      await kubernetes.apiServer.end('SIGKILL');
      await kubernetes.etcd.end('SIGKILL');
      for (const { kubelet, containerd } of kubelets) {
        await kubelet.end('SIGKILL');
        await containerd.end('SIGKILL');
      }
      // All but those who only look at the API server.
      killAll(() =>
        leftoversOf(kubernetes.dir).processes.filter(
          (pid) => !/coredns|controller-manager/.test(commandLine(pid)),
        ),
      );
      return async () => {
        kubernetes.etcd.start();
        kubernetes.apiServer.start();
        await kubernetes.ready();
        for (const node of kubelets) await startNodeAgain(kubernetes, node);
      };
    },
  };

  it.each(['alpha', 'west'] as const)(
    'all ends well when the whole of %s is killed and comes back',
    async (killed) => {
      const { system } = three();
      const placed = {
        alpha: await runningIn('alpha', 7),
        west: await runningIn('west', 7),
        home: await runningIn('home', 6),
      };
      const all = Object.values(placed).flat();
      const heal = await kills[killed](three());
      // Nothing is heard of them, so they start nowhere else, and say what would prove that they are over.
      for (const job of placed[killed])
        await eventually(`${job} says what proof is missing (logs in ${system.dir})`, withinMs, async () => {
          const { text } = await system.client.jobs.why(job);
          return (
            text.includes(`cluster ${killed} must answer`) && text.includes(`muster clusters lost ${killed}`)
          );
        });
      expect((await details(placed[killed])).map(({ attempt }) => attempt)).toEqual(Array(7).fill(1));
      // The others went on meanwhile.
      const others = all.filter((job) => !placed[killed].includes(job));
      expect((await details(others)).map(({ attempt, state }) => `${attempt} ${state}`)).toEqual(
        Array(13).fill('1 running'),
      );
      await heal();
      for (const job of placed[killed])
        await eventually(`${job} runs again (logs in ${system.dir})`, withinMs, async () => {
          const { state, attempt } = await system.client.jobs.get(job);
          return state === 'running' && attempt > 1 && linesOf(job).at(-1) === attempt;
        });
      await endAll(all);
      for (const job of await details(others)) expect(job.attempt, job.id).toBe(1);
    },
    testTimeoutMs,
  );

  it(
    'starts what is proven over by its lease elsewhere, without anybody, when a machine with an agent dies',
    async () => {
      const { system } = three();
      const jobs = await runningIn('home', 6);
      const on = async (node: string): Promise<JobId[]> =>
        (await details(jobs))
          .filter(({ runs }) => runs.at(-1)?.tasks[0]?.nodeName === node)
          .map(({ id }) => id);
      const [lost, kept] = [await on('h1'), await on('h2')];
      const dir = join(system.dir, 'agent-h1');
      await system.server('agent-h1').end('SIGKILL');
      killAll(() => processesOf(dir));
      for (const job of lost)
        await eventually(`${job} runs elsewhere (logs in ${system.dir})`, withinMs, async () => {
          const { state, attempt } = await system.client.jobs.get(job);
          return state === 'running' && attempt === 2 && linesOf(job).at(-1) === 2;
        });
      expect((await details(kept)).map(({ attempt }) => attempt)).toEqual(kept.map(() => 1));
      await endAll(jobs);
      await system.startAgent({ name: 'h1', cpus: 8, memory: '4GiB', checkpoints: three().checkpoints });
    },
    testTimeoutMs,
  );

  it(
    "starts a lost cluster's jobs elsewhere by an operator's word, and stops what is left of them when it is back",
    async () => {
      const { system, slurm } = three();
      const jobs = await runningIn('alpha', 4);
      // Its machines live, and with them what runs there: the word is wrong, and what it costs is only lines that nobody wants.
      await slurm.controller.end('SIGKILL');
      await eventually(`nothing is heard of alpha (logs in ${system.dir})`, withinMs, async () => {
        return (await system.client.clusters.get('alpha')).nodes.ready === 0;
      });
      const asked = await system.muster('clusters', 'lost', 'alpha');
      expect(asked).toMatchObject({ code: 1, output: expect.stringContaining('would count as gone') });
      for (const job of jobs) expect(asked.output).toContain(job);
      const said = await system.muster('clusters', 'lost', 'alpha', '--yes');
      expect(said, said.output).toMatchObject({ code: 0 });
      for (const job of jobs)
        await eventually(`${job} runs elsewhere (logs in ${system.dir})`, withinMs, async () => {
          const { state, attempt } = await system.client.jobs.get(job);
          return state === 'running' && attempt === 2;
        });
      slurm.controller.start();
      await slurm.ready();
      // Its list may be empty before: a controller that was away for long gives its jobs up, and has their nodes end them once these
      // are heard of again.
      await eventually(`what was left in alpha is stopped (logs in ${system.dir})`, withinMs, async () => {
        const left = await slurm.command('squeue', '--noheader', '--states=PENDING,RUNNING,COMPLETING');
        return (
          left.trim() === '' &&
          jobs.every((job) =>
            linesOf(job)
              .slice(-quietLines)
              .every((of) => of === 2),
          )
        );
      });
      // From here on there is one of each.
      const before = new Map(jobs.map((job) => [job, linesOf(job).length]));
      for (const job of jobs)
        await eventually(
          `${job} goes on`,
          withinMs,
          () => linesOf(job).length > before.get(job)! + quietLines,
        );
      for (const job of jobs) expect(new Set(linesOf(job).slice(before.get(job)))).toEqual(new Set([2]));
      for (const job of jobs) writeFileSync(join(three().checkpoints, job, 'finish'), '');
      for (const job of jobs)
        expect((await system.ended(job, withinMs)).result, job).toEqual({ outcome: 'succeeded' });
      expect((await details(jobs)).map(({ attempt }) => attempt)).toEqual(Array(4).fill(2));
    },
    testTimeoutMs,
  );
}

onStarted('three clusters', threeClustersMissing(), startThreeClusters, lostClusters);

function killAll(find: () => number[]): void {
  // What one of them started while the others died is found by the next look.
  for (let found = find(); found.length > 0; found = find())
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone meanwhile.
      }
    }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
