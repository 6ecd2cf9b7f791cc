// The README's first command: a whole system, a finished gang, and nothing left behind; also when it is interrupted. And
// `muster up`, whose terminal is closed.

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcessesOf, processesOf } from '@muster/drivers/testing';
import { afterEach, expect, it } from 'vitest';
import { eventually, repository } from '../harness/processes.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
  readonly dir: string;
}

/** Everything it makes lies in one folder, so that whatever it leaves is found. */
function started(args: (dir: string) => readonly string[]): Started {
  const dir = mkdtempSync(join(tmpdir(), 'muster-quickstart-test-'));
  // As root, PostgreSQL and tasks run as other users and must get through.
  chmodSync(dir, 0o711);
  const child = spawn(process.execPath, args(dir), {
    cwd: repository,
    env: { ...process.env, TMPDIR: dir, XDG_CONFIG_HOME: dir, DATABASE_URL: '', NO_COLOR: '1' },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data: Buffer) => {
      text += data.toString();
    });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  ends.push(() => {
    child.kill('SIGKILL');
    endProcessesOf(dir);
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  return { child, output: () => text, exited, dir };
}

const quickstart = (): Started => started(() => ['packages/muster/src/quickstart.ts']);

it('shows a finished gang of four with its logs, placement and reasons, and leaves nothing running', async () => {
  const { output, exited, dir } = quickstart();
  expect({ code: await exited, output: output() }).toMatchObject({ code: 0 });
  for (const shown of [
    '4 x 1000 gradients added up',
    'muster show',
    'muster why',
    'Nearest possible',
    'nothing is left running',
  ])
    expect(output()).toContain(shown);
  // Its four agents leave at the end, which is no alarm.
  expect(output()).not.toContain('silent');
  expect(processesOf(dir)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

it('interrupted in the middle, it stops everything and says so by its exit code', async () => {
  const { child, output, exited, dir } = quickstart();
  await eventually('the first command is shown', 60_000, () => output().includes('$ muster'));
  child.kill('SIGINT');
  expect(await exited).toBe(130);
  expect(processesOf(dir)).toEqual([]);
  expect(readdirSync(dir)).toEqual([]);
});

it('a whole system stops in good order when its terminal is closed', async () => {
  const up = (dir: string) => [
    'packages/muster/bin/muster.js',
    'up',
    '--port',
    '0',
    '--dir',
    join(dir, 'state'),
  ];
  const { child, output, exited, dir } = started(up);
  await eventually('it is ready', 60_000, () => output().includes('Ready after'));
  child.kill('SIGHUP');
  expect({ code: await exited, output: output() }).toMatchObject({
    code: 0,
    output: expect.stringContaining('Stopped.'),
  });
  // Its supervisor has no task left, and ends by itself.
  await eventually('nothing is left running', 60_000, () => processesOf(dir).length === 0);
});
