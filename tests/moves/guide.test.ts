// Every command of the guide to moving, on real servers and agents: two clusters of one machine each.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GuidedSystem, guide, startGuided } from '../harness/guide.ts';
import { eventually } from '../harness/processes.ts';

const moving = guide('moving.md');
const withinMs = 60_000;
const example = join(import.meta.dirname, '../../docs/guide/examples/checkpoint.py');

let system: GuidedSystem;
let shared: string;
beforeAll(async () => {
  system = await startGuided(moving, [
    { name: 'n1', cluster: 'north' },
    { name: 'w1', cluster: 'west' },
  ]);
  await system.client.clusters.add('north', { kind: 'agent' });
  // Tasks may run as another user.
  shared = join(system.dir, 'side');
  copyFileSync(example, join(shared, 'checkpoint.py'));
});
afterAll(() => system?.close());

/** As a shell would read it. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

const attempt = (n: number, node: string) =>
  eventually(`attempt ${n} runs on ${node} (logs in ${system.dir})`, withinMs, async () => {
    const [job] = (await system.client.jobs.list({ name: 'train' })).items;
    const { runs } = await system.client.jobs.get(job!.id);
    const run = runs.find((one) => one.attempt === n && one.state === 'running');
    return run?.tasks[0]?.nodeName === node ? job!.id : null;
  });
const savedStep = (): number => JSON.parse(readFileSync(join(shared, 'checkpoint.json'), 'utf8')).step;

async function shown(line: string): Promise<string> {
  const words = wordsOf(line).map((word) => word.replaceAll('/shared', shared));
  const { code, output } = await system.muster(...words);
  expect(code, `${line}\n${output}`).toBe(0);
  return output;
}

it('does what it shows', async () => {
  const left = moving.commands.filter(
    (line) => !/^(submit|move|why|events|drain|undrain|clusters)/.test(line),
  );
  expect(left).toEqual([]);
  const spec = readFileSync(join(system.dir, 'train.yaml'), 'utf8').replaceAll('/shared', shared);
  writeFileSync(join(system.dir, 'train.yaml'), spec);
  await system.client.nodes.drain('w1', 'the story begins in north');
  const said = new Map<string, string>();
  for (const line of moving.commands) {
    if (line.startsWith('move train --to')) {
      await attempt(1, 'n1');
      await system.client.nodes.undrain('w1');
    }
    if (line === 'move train --cancel') await attempt(2, 'w1');
    said.set(line, await shown(line));
  }
  const of = (start: string): string => [...said].find(([line]) => line.startsWith(start))?.[1] ?? '';
  expect(of('move train --to')).toMatch(/is being moved to cluster west/);
  expect(of('events')).toContain('job.moving');
  expect(of('drain n1')).toContain('nothing runs there');
  const id = await attempt(2, 'w1');
  const begun = await eventually('it says where it went on', withinMs, async () => {
    const output = Buffer.from((await system.client.jobs.logs(id)).data).toString();
    return /^attempt 2 starts at step (\d+)$/m.exec(output)?.[1];
  });
  // It was asked for a checkpoint before it was stopped, and went on from it.
  expect(Number(begun)).toBeGreaterThan(0);
  expect(savedStep()).toBeGreaterThanOrEqual(Number(begun));
  // And back, by a drain.
  expect(await shown('drain w1 --reason fan --move')).toContain(`${id} is being moved`);
  await attempt(3, 'n1');
  const detail = await system.client.jobs.get(id);
  expect(detail).toMatchObject({ attempt: 3, move: null });
  expect(detail.runs.slice(0, 2).map(({ result }) => result)).toMatchObject([
    { class: 'preemption', reason: { code: 'moved' } },
    { class: 'preemption', reason: { code: 'moved' } },
  ]);
  await system.client.jobs.cancel(id);
  await system.ended(id, withinMs);
}, 300_000);
