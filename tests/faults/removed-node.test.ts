// An operator removes a node: not under running work, and for good. Its agent ends instead of being refused for ever, and the
// machine comes back as a new node, with a new token.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startMuster } from '../harness/processes.ts';
import { freePort, startSystem, type TestSystem } from '../harness/system.ts';

let system: TestSystem;
let port: number;

beforeAll(async () => {
  port = await freePort();
  system = await startSystem([{ name: 'server', port }]);
});

afterAll(() => system.close());

/** The agent as its unit file starts it, with whatever token file there is. */
function startAgain(tokenFile: string) {
  const args = ['agent', '--dir', join(system.dir, 'agent-n1'), '--token-file', tokenFile];
  const agent = startMuster({ name: 'again', args, logDir: system.dir });
  return { agent, exited: agent.exited };
}

it('a node is removed only when it takes no work; its agent ends, and a new token brings the machine back', async () => {
  const agent = await system.startAgent({ name: 'n1' });
  const { id } = await system.client.nodes.get('n1');
  const job = await system.submit({ command: ['sleep', '60'] });
  await system.inState(job, 'running', 20_000);
  await expect(system.client.nodes.remove('n1')).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('still holds work'),
  });
  await system.client.jobs.cancel(job);
  await system.ended(job, 20_000);
  await expect(system.client.nodes.remove('n1')).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('drain it first (muster drain n1 --reason ...), or stop its agent'),
  });
  await system.client.nodes.drain('n1', 'goes to another team');
  await system.client.nodes.remove('n1');
  expect(await agent.exited).toEqual({ code: 4, signal: null });
  expect(agent.output()).toContain('an operator removed node n1');

  const used = join(system.dir, 'token-n1');
  const same = startAgain(used);
  expect(await same.exited).toEqual({ code: 4, signal: null });
  expect(same.agent.output()).toContain(
    'an operator removed node n1, and there is no new enrolment token; to bring this machine back, make a token',
  );
  const gone = startAgain(join(system.dir, 'no-such-token'));
  expect(await gone.exited).toEqual({ code: 4, signal: null });
  expect(gone.agent.output()).toContain('an operator removed node n1, and cannot read the token file');
  const bad = join(system.dir, 'token-bad');
  writeFileSync(bad, readFileSync(used, 'utf8').replace(/.$/, 'x'));
  const wrong = startAgain(bad);
  expect(await wrong.exited).toEqual({ code: 4, signal: null });
  expect(wrong.agent.output()).toContain('does not accept this enrolment token');

  writeFileSync(used, (await system.client.nodes.createEnrolment({})).token);
  const back = await system.startAgent({ name: 'n1' }, port, used);
  const again = await system.client.nodes.get('n1');
  expect(again).toMatchObject({ name: 'n1', state: 'ready', drain: null });
  expect(again.id).not.toBe(id);
  expect(back.output()).toContain('enrolled again, as a new node, with the new token');
  const next = await system.submit({ command: ['true'] });
  expect((await system.ended(next, 20_000)).result).toEqual({ outcome: 'succeeded' });
});
