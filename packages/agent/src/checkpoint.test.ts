// The checkpoint contract at the machine: what a task writes to its status file is told, and a stop that asks first gives it
// the time to save its work.
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Observation, StopCommand } from '@muster/model';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { shell, startOf } from './testing/fake-server.ts';
import { until } from './testing/until.ts';
import { makeWorld, type World } from './testing/world.ts';

// Real processes on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
beforeEach(async () => {
  world = await makeWorld();
});
afterEach(() => world.clean());

const save =
  'save() { echo "{\\"step\\":$1,\\"path\\":\\"/c\\"}" > $MUSTER_STATUS_FILE.new; mv $MUSTER_STATUS_FILE.new $MUSTER_STATUS_FILE; }';

const told = (): Observation[] => world.server.observed.filter(({ kind }) => kind === 'checkpoint');

async function running(script: string) {
  await world.agent();
  await world.server.welcomed();
  const start = startOf(shell(`${save}; ${script}`));
  await world.server.start(start);
  await until('it is ready', async () => (await world.server.read(start.run)).size > 0);
  return start.run;
}

function asking(run: StopCommand['run'], waitMs: number): StopCommand {
  const ask = { signal: 'USR1', waitMs } as const;
  return { run, reason: 'for another', class: 'preemption', signal: 'TERM', graceMs: 20_000, ask };
}

it('what replaces the status file is told, once for each word', async () => {
  const run = await running('save 5; echo ready; while :; do sleep 0.05; done');
  await until('it was told', () => told().length > 0);
  expect(told()).toMatchObject([{ kind: 'checkpoint', run, rank: 0, step: 5, path: '/c' }]);
  await world.server.stop({ run, reason: '', class: 'cancelled', signal: 'KILL', graceMs: 0 });
  await world.server.ended(run);
  expect(told()).toHaveLength(1);
});

it('a file that is no status says nothing', async () => {
  const run = await running(
    'ln -s /etc/passwd $MUSTER_STATUS_FILE; sleep 1.5; rm $MUSTER_STATUS_FILE; echo "{" > $MUSTER_STATUS_FILE; sleep 1.5; save 9; echo ready; sleep 60',
  );
  await until('the right one was told', () => told().length > 0);
  expect(told()).toMatchObject([{ step: 9 }]);
  await world.server.stop({ run, reason: '', class: 'cancelled', signal: 'KILL', graceMs: 0 });
  await world.server.ended(run);
});

it('a stop that asks gives the program time to save, and a second one ends the wait', async () => {
  const run = await running(
    'trap "save 7; echo asked" USR1; trap "echo stopped; exit 0" TERM; save 1; echo ready; while :; do sleep 0.05; done',
  );
  await until('the first was told', () => told().length === 1);
  await world.server.stop(asking(run, 40_000));
  // Told at once, though the last word was a moment ago.
  await until('the newer was told', () => told().length === 2);
  expect(told().at(-1)).toMatchObject({ step: 7 });
  expect(world.server.ends(run)).toHaveLength(0);
  // The same question again changes nothing and asks nobody twice.
  await world.server.stop(asking(run, 40_000));
  await world.server.stop({ ...asking(run, 0), ask: null });
  // An exit code of 0 after our signal is no success: the work was to go on.
  expect(await world.server.ended(run)).toMatchObject({ ok: false, class: 'preemption', code: 0 });
  expect(await world.server.output(run)).toMatch(/^ready\nasked\n(Terminated\n)?stopped\n$/);
});

it('a program that never answers is stopped when the wait is over', async () => {
  const run = await running('trap "" USR1; echo ready; while :; do sleep 0.05; done');
  await world.server.stop(asking(run, 300));
  expect(await world.server.ended(run)).toMatchObject({ class: 'preemption', signal: 'SIGTERM' });
});

it('the example of the guide saves when asked and goes on from there', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-example-'));
  // The task's user may be another one, who cannot read a checkout below /root.
  chmodSync(dir, 0o777);
  const example = join(dir, 'checkpoint.py');
  copyFileSync(
    join(import.meta.dirname, '..', '..', '..', 'docs', 'guide', 'examples', 'checkpoint.py'),
    example,
  );
  const attempt = (goal: number) => running(`export CHECKPOINT_DIR=${dir}; exec python3 ${example} ${goal}`);
  const first = await attempt(100_000);
  await world.server.stop(asking(first, 40_000));
  await until('it saved and told', () => told().length > 0);
  const [saved] = told();
  await world.server.stop({ ...asking(first, 0), ask: null });
  expect(await world.server.ended(first)).toMatchObject({ class: 'preemption' });
  const { step } = saved as Extract<Observation, { kind: 'checkpoint' }>;
  const next = startOf(shell(`export CHECKPOINT_DIR=${dir}; exec python3 ${example} ${(step ?? 0) + 5}`));
  await world.server.start(next);
  expect(await world.server.ended(next.run)).toEqual({ ok: true });
  const text = await world.server.output(next.run);
  expect(text).toContain(`starts at step ${step}\n`);
  expect(text).toContain(`done at step ${(step ?? 0) + 5}\n`);
  rmSync(dir, { recursive: true });
});

it('a program that ends when it is asked has been preempted', async () => {
  const run = await running('trap "exit 0" USR1; echo ready; while :; do sleep 0.05; done');
  await world.server.stop(asking(run, 40_000));
  expect(await world.server.ended(run)).toMatchObject({ ok: false, class: 'preemption', code: 0 });
});
