// What-if and replay on a real system: the commands of the guide work as they are written, the answer to a what-if is what
// then happens, and the decisions of a real server come out alike when they are made again.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/guide/what-if.md'), 'utf8');

let system: TestSystem;
let port: number;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
  for (const name of ['n1', 'n2']) await system.startAgent({ name, devices: 'gpu=2:H100' });
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

const sleeper = { command: ['sleep', '300'], resources: { accelerators: { model: 'H100', count: 2 } } };

describe('what if', () => {
  it('says what then happens', { timeout: 90_000 }, async () => {
    const asked = await system.client.whatIf({ submit: { name: 'one', ...sleeper } });
    expect(asked.starts).toMatchObject({ count: 1, items: [{ name: 'one' }] });
    const one = await system.submit({ name: 'one', ...sleeper });
    const ran = await system.inState(one, 'running', 30_000);
    expect(ran.runs[0]?.tasks.map((task) => task.nodeName)).toEqual(asked.starts.items[0]?.nodes);

    const gang = { name: 'gang', tasks: 2, ...sleeper };
    const { verdicts } = await system.client.whatIf({ submit: gang });
    const waits = await system.submit(gang);
    await eventually('the gang is told why it waits', 20_000, async () => {
      const { text } = await system.client.jobs.why(waits);
      return text === verdicts.items[0]?.afterText;
    });

    const [busy] = asked.starts.items[0]?.nodes ?? [];
    const lost = await system.client.whatIf({ lose: [busy!] });
    expect(lost.stops.items).toMatchObject([{ job: one, requeued: true }]);
    expect(lost.starts.items).toMatchObject([{ job: one }]);
    const freed = await system.client.whatIf({ addNodes: { like: 'n1', count: 1 } });
    expect(freed.starts.items).toMatchObject([{ job: waits, name: 'gang' }]);
  });
});

describe('replay', () => {
  it('reproduces what the server decided, also after it is killed', { timeout: 120_000 }, async () => {
    await eventually('there is a snapshot', 60_000, async () => (await system.store.snapshots()).length > 0);
    await system.server('server').end('SIGKILL');
    await system.startServer('server', port);
    const job = await system.submit({ name: 'late', command: ['true'] });
    await system.ended(job, 40_000);
    const report = await eventually('decisions since the snapshot', 30_000, async () => {
      const found = await system.client.replay({ from: 0 }).catch(() => null);
      return found && found.decisions > 0 ? found : null;
    });
    expect(report).toMatchObject({ divergence: null, cut: false });
    expect(report.same).toBe(report.decisions);
  });
});

describe('the guide', () => {
  const commands = [...guide.matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap(([, text]) => text!.trim().split('\n'))
    .map((line) => line.replace(/^\$ muster /, ''));

  it.each(commands)('muster %s', { timeout: 60_000 }, async (line) => {
    const mayDiffer = line.endsWith(' || true');
    const { code, stdout } = await muster(...line.replace(' || true', '').split(' '));
    expect(stdout).not.toBe('');
    expect(mayDiffer ? [0, 1] : [0], stdout).toContain(code);
    expect(stdout).toMatch(/At event \d+, with this change:|decisions, made at events|There are/);
  });
});
