// `muster why` on a real system prints what the guide shows, and what it says would help does.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/guide/jobs.md'), 'utf8');
const shown = /```console\n\$ muster why train\n([\s\S]*?)```/.exec(guide)![1]!;

let system: TestSystem;
let port: number;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
  for (const name of ['n1', 'n2']) await system.startAgent({ name, devices: 'gpu=2:H100' });
  writeFileSync(join(system.dir, 'token'), system.adminToken, { mode: 0o600 });
});

afterAll(() => system.close());

async function muster(...args: string[]): Promise<string> {
  const connection = ['--server', `http://127.0.0.1:${port}`, '--token-file', join(system.dir, 'token')];
  const program = join(root, 'packages/muster/bin/muster.js');
  const { stdout } = await run(process.execPath, [program, ...args, ...connection], { cwd: system.dir });
  return stdout;
}

/** Ids and times are others each time. */
function plain(text: string): string {
  return text
    .replace(/job_[0-9a-z]+/g, 'JOB')
    .replace(/(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)?/g, 'TIME')
    .trim();
}

const asking = (count: number) => ({
  command: ['sleep', '300'],
  timeLimit: '1d',
  resources: { accelerators: { model: 'H100', count } },
});

it('prints what the guide shows, and the end that it names lets the job start', {
  timeout: 120_000,
}, async () => {
  for (const node of ['n1', 'n2']) {
    const constraints = [{ label: 'node', in: [node] }];
    const id = await system.submit({ name: `on-${node}`, ...asking(1), constraints });
    await system.inState(id, 'running', 30_000);
  }
  const train = await system.submit({ name: 'train', ...asking(2) });
  await eventually('the job is told why it waits', 20_000, async () => {
    return (await system.client.jobs.why(train)).verdict?.kind === 'waits';
  });
  expect(plain(await muster('why', 'train'))).toBe(plain(shown));
  const { explanation } = await system.client.jobs.why(train);
  const [first] = explanation?.ends.runs ?? [];
  await system.client.jobs.cancel(first!.job);
  await system.inState(train, 'running', 40_000);
});
