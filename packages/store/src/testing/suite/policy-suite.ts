import { defaultPolicy, type JobSpec, type Policy, type RunId } from '@muster/model';
import { expect, test } from 'vitest';
import type { NodeSession, Store } from '../../contract.ts';
import { aPlan, aSpec, aSubmit, aUnit, joinNode, lead, ok, placement, submitted } from '../builders.ts';
import type { Harness } from './harness.ts';

const hourly: Policy = { ...defaultPolicy, share: { halfLifeMs: 3_600_000 } };

async function started(store: Store, node: NodeSession, spec: JobSpec): Promise<RunId> {
  const job = await submitted(store, aSubmit({ spec }));
  const { version: policyVersion } = await store.policy();
  const unit = aUnit(job, [placement(node.node)]);
  await store.commitPlan(await lead(store), aPlan([unit], { policyVersion }));
  return unit.run;
}

export function policySuite(harness: Harness): void {
  test('a policy is written only on top of the version its writer saw, and every version is kept', async () => {
    const store = await harness.store();
    expect(await store.setPolicy(hourly, 2, 'ada')).toEqual({ outcome: 'refused', refusal: 'stale' });
    expect(await store.setPolicy(hourly, 1, 'ada')).toMatchObject({ value: { version: 2 } });
    expect(await store.setPolicy(defaultPolicy, 1, 'bob')).toEqual({ outcome: 'refused', refusal: 'stale' });
    expect(await store.setPolicy(defaultPolicy, 2, 'bob')).toMatchObject({ value: { version: 3 } });
    expect(await store.policy()).toEqual({ version: 3, policy: defaultPolicy });
    const versions = await store.policyVersions(null, 10);
    expect(versions.map(({ version, createdBy }) => [version, createdBy])).toEqual([
      [3, 'bob'],
      [2, 'ada'],
      [1, 'muster'],
    ]);
    expect((await store.policyVersions(3, 1)).map(({ version }) => version)).toEqual([2]);
    expect(await store.policyAt(2)).toMatchObject({ policy: hourly });
    expect(await store.policyAt(9)).toBeNull();
    const [event] = (await store.eventsSince(0, 10)).filter(({ body }) => body.kind === 'policy.changed');
    expect(event?.body).toEqual({ kind: 'policy.changed', version: 2, policy: hourly, by: 'ada' });
  });

  test('of many writers at once one wins', async () => {
    const store = await harness.store();
    const { version } = await store.policy();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => store.setPolicy(hourly, version, `writer-${i}`)),
    );
    expect(answers.filter(({ outcome }) => outcome === 'committed')).toHaveLength(1);
    expect((await store.policy()).version).toBe(version + 1);
  });

  test('a plan made under an older policy is refused whole', async () => {
    const store = await harness.store();
    const epoch = await lead(store);
    const node = await joinNode(store);
    const job = await submitted(store);
    const { version: policyVersion } = await store.policy();
    const plan = aPlan([aUnit(job, [placement(node.node)])], { policyVersion });
    await store.setPolicy(hourly, policyVersion, 'ada');
    expect(await store.commitPlan(epoch, plan)).toEqual({ outcome: 'refused', refusal: 'stale-policy' });
    const anew = { ...plan, policyVersion: policyVersion + 1 };
    expect(await store.commitPlan(epoch, anew)).toMatchObject({ value: { applied: [plan.units[0]?.run] } });
  });

  test('what a project uses is kept with its runs, from plan to proven end', async () => {
    const store = await harness.store();
    await store.createProject('u', 'ada');
    const node = await joinNode(store);
    const use = async () => {
      const row = (await store.loadEngine()).usage.find(({ project }) => project === 'u');
      return row && Object.fromEntries(Object.entries(row.keys).map(([key, past]) => [key, past.use]));
    };
    expect(await use()).toBeUndefined();
    const run = await started(store, node, aSpec({ project: 'u' }));
    expect(await use()).toEqual({ cpu: 1000, memory: 512 });
    await store.takeOutbox([node], 10);
    await store.observe(node, [{ kind: 'ended', run, rank: 0, exit: ok }]);
    expect(await use()).toEqual({ cpu: 0, memory: 0 });
  });

  test('a report says what runs used in a period, by project, user, tier and resource', async () => {
    const store = await harness.store();
    await store.createProject('a', 'ada');
    await store.createProject('a-b', 'ada');
    const epoch = await lead(store);
    const node = await joinNode(store);
    const one = await submitted(store, aSubmit({ spec: aSpec({ project: 'a' }) }));
    const two = await submitted(store, aSubmit({ spec: aSpec({ project: 'a-b' }), principal: 'bob' }));
    const { version: policyVersion } = await store.policy();
    const units = [
      aUnit(one, [placement(node.node, { devices: [0, 1] })]),
      aUnit(two, [placement(node.node)], { port: 20_001 }),
    ];
    await store.commitPlan(epoch, aPlan(units, { policyVersion }));
    const plannedMs = (await store.runs(one))[0]?.plannedMs as number;
    const hour = { fromMs: plannedMs - 1_800_000, untilMs: plannedMs + 3_600_000 };
    const rows = await store.usage({ scope: 'a', ...hour });
    expect(
      rows.map(({ project, user, tier, key, unitHoursMilli }) => [project, user, tier, key, unitHoursMilli]),
    ).toEqual([
      ['a', 'ada', 'standard', 'cpu', 1_000_000],
      ['a', 'ada', 'standard', 'gpu', 2_000_000],
      ['a', 'ada', 'standard', 'gpu/H100', 2_000_000],
      ['a', 'ada', 'standard', 'memory', 512_000],
    ]);
    expect((await store.usage({ scope: null, ...hour })).map(({ project }) => project)).toContain('a-b');
    expect(await store.usage({ scope: null, fromMs: 0, untilMs: plannedMs })).toEqual([]);
  });
}
