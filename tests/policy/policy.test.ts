// Policy, quota and usage on a real system: the commands of the guide work as they are written, and a ceiling holds.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/guide/quota.md'), 'utf8');

let system: TestSystem;
let port: number;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
  await system.startAgent({ name: 'n1', devices: 'gpu=4:H100' });
  writeFileSync(join(system.dir, 'token'), system.adminToken, { mode: 0o600 });
  for (const [, name, text] of guide.matchAll(/```ya?ml\n# (\S+)\n([\s\S]*?)```/g))
    writeFileSync(join(system.dir, name!), text!);
});

afterAll(() => system.close());

async function muster(...args: string[]): Promise<{ code: number; stdout: string }> {
  const connection = ['--server', `http://127.0.0.1:${port}`, '--token-file', join(system.dir, 'token')];
  const all = [join(root, 'packages/muster/bin/muster.js'), ...args, ...connection];
  try {
    const { stdout } = await run(process.execPath, all, { cwd: system.dir });
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout: stdout + stderr };
  }
}

it('every command of the guide works as it is written', { timeout: 120_000 }, async () => {
  const commands = [...guide.matchAll(/^\$ muster (.*)$/gm)].map(([, line]) => line!.split(' '));
  expect(commands.length).toBeGreaterThan(10);
  for (const args of commands) {
    const { code, stdout } = await muster(...args);
    expect(code, `muster ${args.join(' ')}: ${stdout}`).toBe(0);
  }
});

it('a ceiling holds, is named, and lets go when it is raised', { timeout: 90_000 }, async () => {
  const { client } = system;
  const quotas = [{ project: 'product', ceiling: { gpu: 1 } }];
  await client.policy.put({ quotas }, (await client.policy.get()).version);
  const job = { project: 'product', command: ['sleep', '300'], resources: { accelerators: { count: 1 } } };
  await system.inState(await system.submit({ name: 'one', ...job }), 'running', 30_000);
  const two = await system.submit({ name: 'two', ...job });
  await eventually('the second is told about the ceiling', 20_000, async () =>
    (await client.jobs.why(two)).text.includes('project product has 1 gpu in use and may have 1 gpu'),
  );
  const ledger = await client.quota('product');
  expect(ledger.lines.find(({ key }) => key === 'gpu')).toMatchObject({ ceiling: 1000, use: 1000 });
  await client.policy.put({}, (await client.policy.get()).version);
  await system.inState(two, 'running', 30_000);
  const usage = await client.usage({ project: 'product', since: '1h' });
  expect(usage.lines.filter(({ key }) => key === 'gpu/H100')).toMatchObject([{ runs: 2 }]);
});
