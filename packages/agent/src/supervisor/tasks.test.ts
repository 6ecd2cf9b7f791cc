import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskExit } from '@muster/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { specOf } from '../testing/spec.ts';
import { until } from '../testing/until.ts';
import { Cgroups } from './cgroups.ts';
import { bootClockMs } from './clock.ts';
import { Journal } from './journal.ts';
import { Leftovers } from './leftovers.ts';
import { Pipes } from './pipes.ts';
import { type StopRequest, type TaskSpec, taskKey } from './protocol.ts';
import { recover } from './recover.ts';
import { Tasks } from './tasks.ts';

let dir: string;
let pipes: Pipes;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-tasks-'));
  pipes = new Pipes(join(dir, 'pipes'));
});
afterEach(() => {
  pipes.dispose();
  rmSync(dir, { recursive: true, force: true });
});

/** The tasks of a supervisor without its socket, and what it would tell an agent. */
async function open(name = 'journal') {
  const journal = await Journal.create(join(dir, name), []);
  const told: string[] = [];
  const ends: TaskExit[] = [];
  const deps = {
    cgroups: Cgroups.none(),
    leftovers: new Leftovers(),
    pipes,
    outputDir: join(dir, 'output'),
    launchDir: dir,
    nowMs: bootClockMs,
  };
  const nothing = { claims: new Map<string, number>(), tasks: [] };
  const tasks = new Tasks(journal, nothing, 'this', deps, {
    accepted: () => told.push('accepted'),
    started: () => told.push('started'),
    ended: (_run, _rank, exit) => {
      told.push('ended');
      ends.push(exit);
    },
    changed: () => {},
    poke: () => {},
  });
  return { tasks, told, ends };
}

const env = { PATH: '/usr/bin:/bin' };

/** Leaves a mark, so that a start is seen whatever is told of it. */
function marking(): TaskSpec {
  const command = ['/bin/sh', '-c', `touch ${join(dir, 'ran')}`];
  return { ...specOf(command), scratch: join(dir, 'scratch'), env };
}
const ran = (): boolean => existsSync(join(dir, 'ran'));

/** Another task has started and ended since: what was to start before it has had its time. */
async function settled(): Promise<void> {
  const { tasks, ends } = await open('other');
  const spec = { ...specOf(['/bin/true']), scratch: join(dir, 'scratch-other'), env };
  await tasks.prepare([spec]);
  tasks.renew(spec.run, forEver);
  await until('the other task ended', () => ends[0]);
}

const cancel: StopRequest = {
  class: 'cancelled',
  reason: { code: 'cancelled', message: 'cancelled by a test' },
  how: null,
};
const forEver = { deadlineMs: null, stopAfterMs: null };

describe('a stop of a task that has not started', () => {
  it('wins over a renewal that comes while its end is being written', async () => {
    const { tasks, told, ends } = await open();
    const spec = marking();
    await tasks.prepare([spec]);
    const stopped = tasks.stop(spec.run, cancel);
    tasks.renew(spec.run, forEver);
    await stopped;
    tasks.renew(spec.run, forEver);
    expect(tasks.list()).toEqual([{ run: spec.run, rank: 0, state: 'ended', exit: ends[0] }]);
    await settled();
    expect({ told, ran: ran() }).toEqual({ told: ['accepted', 'ended'], ran: false });
  });

  it('wins over a lease that came while its claim was being written', async () => {
    const { tasks, ends } = await open();
    const spec = marking();
    const prepared = tasks.prepare([spec]);
    tasks.renew(spec.run, forEver);
    await Promise.all([tasks.stop(spec.run, cancel), prepared]);
    await settled();
    expect({ ends: ends.length, ran: ran() }).toEqual({ ends: 1, ran: false });
  });

  it('ends it once, however often it is said', async () => {
    const { tasks, told, ends } = await open();
    const spec = marking();
    await tasks.prepare([spec]);
    await Promise.all([tasks.stop(spec.run, cancel), tasks.stop(spec.run, cancel)]);
    expect(told).toEqual(['accepted', 'ended']);
    const { tasks: found } = await recover(await Journal.read(join(dir, 'journal')), {
      bootId: 'this',
      cgroups: Cgroups.none(),
      leftovers: new Leftovers(),
    });
    expect(found.map(({ key, exit }) => [key, exit])).toEqual([[taskKey(spec.run, 0), ends[0]]]);
  });
});
