import type { JobId } from '@muster/model';
import { expect, test } from 'vitest';
import type { JobQuery } from '../../contract.ts';
import { aSpec, aSubmit, newId, submitted } from '../builders.ts';
import type { Harness } from './harness.ts';

export function submitSuite(harness: Harness): void {
  test('a submitted job is queued, and its event is the sequence it was told', async () => {
    const store = await harness.store();
    const item = aSubmit();
    const answer = await store.submit(item);
    expect(answer).toMatchObject({ outcome: 'committed', value: { job: item.id, repeated: false } });
    const row = await store.job(item.id);
    expect(row).toMatchObject({ version: 1, submittedBy: 'ada', spec: item.spec, startedMs: null });
    expect(row?.state).toMatchObject({ state: 'queued', attempt: 1, notBeforeMs: 0, avoid: [] });
    const [event] = await store.eventsSince(0, 10);
    expect(answer).toMatchObject({ sequence: event?.sequence });
    expect(event?.body).toEqual({
      kind: 'job.submitted',
      by: 'ada',
      held: false,
      job: item.id,
      version: 1,
      name: item.spec.name,
      project: 'default',
      tier: 'standard',
      priority: 0,
      user: 'ada',
      durationMs: null,
      deadlineMs: null,
      demand: item.demand,
      submittedMs: row?.submittedMs,
    });
    expect(event?.atMs).toBe(row?.submittedMs);
  });

  test('what was said of its run time is kept with the job, in its event, its row and what an engine is rebuilt from', async () => {
    const store = await harness.store();
    const estimate = { expectedMs: 7_200_000, p90Ms: 36_000_000 };
    const [said, silent] = [aSubmit({ estimate }), aSubmit()];
    await store.submitMany([said, silent]);
    const bodies = (await store.eventsSince(0, 10)).map(({ body }) => body);
    expect(bodies).toMatchObject([{ job: said.id, estimate }, { job: silent.id }]);
    expect(bodies[1]).not.toHaveProperty('estimate');
    expect(await store.job(said.id)).toMatchObject({ estimate });
    expect(await store.job(silent.id)).toMatchObject({ estimate: null });
    // Jobs of which something else was said are no longer alike.
    expect((await store.job(said.id))?.entry).not.toBe((await store.job(silent.id))?.entry);
    const rows = (await store.loadEngine()).jobs.map((row) => [row.job, row.estimate]);
    expect(rows).toEqual([
      [said.id, estimate],
      [silent.id, undefined],
    ]);
  });

  test('a job can be submitted held, and released', async () => {
    const store = await harness.store();
    const id = await submitted(store, aSubmit({ held: true }));
    expect((await store.job(id))?.state).toMatchObject({ state: 'held', by: 'ada' });
    expect(await store.release(id, 'bo')).toMatchObject({ outcome: 'committed', value: { state: 'queued' } });
    expect(await store.release(id, 'bo')).toMatchObject({ outcome: 'committed', value: { state: 'queued' } });
    expect(await store.hold(id, 'bo')).toMatchObject({ value: { state: 'held', by: 'bo' } });
    expect(await store.hold(newId.job(), 'bo')).toEqual({ outcome: 'refused', refusal: 'not-found' });
    const kinds = (await store.eventsSince(0, 10)).map((event) => event.body.kind);
    expect(kinds).toEqual(['job.submitted', 'job.released', 'job.held']);
  });

  test('a project that does not exist is refused, and its neighbours in the batch are not', async () => {
    const store = await harness.store();
    const bad = aSubmit({ spec: aSpec({ project: 'nowhere' }), key: 'k' });
    const answers = await store.submitMany([aSubmit(), bad, aSubmit()]);
    expect(answers.map((answer) => answer.outcome)).toEqual(['committed', 'refused', 'committed']);
    expect(answers[1]).toEqual({ outcome: 'refused', refusal: { code: 'unknown-project' } });
    expect(await store.jobByKey('nowhere', 'ada', 'k')).toBeNull();
  });

  test('the same key with the same body is one job, with another body it is refused', async () => {
    const store = await harness.store();
    const first = aSubmit({ key: 'k' });
    await store.submit(first);
    expect(await store.submit(aSubmit({ key: 'k' }))).toMatchObject({
      outcome: 'committed',
      value: { job: first.id, repeated: true },
    });
    expect(await store.submit(aSubmit({ key: 'k', bodyHash: 'other' }))).toEqual({
      outcome: 'refused',
      refusal: { code: 'key-reused', job: first.id },
    });
    expect(await store.jobByKey('default', 'ada', 'k')).toBe(first.id);
    expect(await store.jobByKey('default', 'bo', 'k')).toBeNull();
  });

  test('the very same item sent again is a repetition', async () => {
    const store = await harness.store();
    const item = aSubmit({ key: 'k' });
    await store.submit(item);
    expect(await store.submit(item)).toMatchObject({ value: { job: item.id, repeated: true } });
    expect((await store.head()).sequence).toBe(1);
  });

  test('a key is scoped to its principal', async () => {
    const store = await harness.store();
    const one = await submitted(store, aSubmit({ key: 'k' }));
    const two = await submitted(store, aSubmit({ key: 'k', principal: 'bo' }));
    expect(one).not.toBe(two);
  });

  test('equal keys in one batch are one job; one with another body is refused', async () => {
    const store = await harness.store();
    const first = aSubmit({ key: 'k' });
    const answers = await store.submitMany([
      first,
      aSubmit({ key: 'k' }),
      aSubmit({ key: 'k', bodyHash: 'x' }),
    ]);
    expect(answers).toMatchObject([
      { outcome: 'committed', value: { job: first.id, repeated: false } },
      { outcome: 'committed', value: { job: first.id, repeated: true } },
      { outcome: 'refused', refusal: { code: 'key-reused', job: first.id } },
    ]);
    expect((await store.head()).sequence).toBe(1);
  });

  test('a batch whose keys are taken in part numbers the rest of it without a gap', async () => {
    const store = await harness.store();
    const before = [aSubmit({ key: 'k1' }), aSubmit({ key: 'k3' })];
    await store.submitMany(before);
    const [a, b, c] = [aSubmit({ key: 'k2' }), aSubmit(), aSubmit({ key: 'k4' })];
    const answers = await store.submitMany([
      aSubmit({ key: 'k1' }),
      a,
      b,
      aSubmit({ key: 'k3', bodyHash: 'x' }),
      c,
    ]);
    expect(answers).toMatchObject([
      { outcome: 'committed', value: { job: before[0]?.id, repeated: true } },
      { outcome: 'committed', sequence: 5, value: { job: a.id, repeated: false } },
      { outcome: 'committed', value: { job: b.id, repeated: false } },
      { outcome: 'refused', refusal: { code: 'key-reused', job: before[1]?.id } },
      { outcome: 'committed', value: { job: c.id, repeated: false } },
    ]);
    const events = await store.eventsSince(2, 10);
    expect(events.map(({ sequence, body }) => [sequence, 'job' in body && body.job])).toEqual([
      [3, a.id],
      [4, b.id],
      [5, c.id],
    ]);
    expect((await store.head()).sequence).toBe(5);
    expect(await store.jobByKey('default', 'ada', 'k4')).toBe(c.id);
  });

  test('the same key from many callers at once is exactly one job', async () => {
    const store = await harness.store();
    const answers = await Promise.all(Array.from({ length: 50 }, () => store.submit(aSubmit({ key: 'k' }))));
    const jobs = new Set(answers.map((answer) => (answer.outcome === 'committed' ? answer.value.job : null)));
    expect(jobs.size).toBe(1);
    expect(answers.filter((answer) => answer.outcome === 'committed' && !answer.value.repeated)).toHaveLength(
      1,
    );
    expect(await store.counts()).toMatchObject({ jobs: { queued: 1 } });
  });

  test('an id that is taken is refused and its key stays free', async () => {
    const store = await harness.store();
    const first = aSubmit();
    await store.submit(first);
    const again = await store.submit(aSubmit({ id: first.id, key: 'k' }));
    expect(again).toEqual({ outcome: 'refused', refusal: { code: 'id-taken' } });
    expect(await store.jobByKey('default', 'ada', 'k')).toBeNull();
  });

  test('jobs are listed newest first, within their scope, by whole project names', async () => {
    const store = await harness.store();
    for (const path of ['a', 'a/b', 'a-b']) await store.createProject(path, 'ada');
    const ids: JobId[] = [];
    for (const project of ['a', 'a/b', 'a-b', 'default'])
      ids.push(await submitted(store, aSubmit({ spec: aSpec({ project }) })));
    const all: JobQuery = {
      scope: null,
      project: null,
      states: null,
      name: null,
      submittedBy: null,
      before: null,
      limit: 10,
    };
    const list = async (query: Partial<JobQuery>) =>
      (await store.jobs({ ...all, ...query })).map((row) => row.id);
    expect(new Set(await list({}))).toEqual(new Set(ids));
    expect(new Set(await list({ scope: 'a' }))).toEqual(new Set([ids[0], ids[1]]));
    expect(await list({ project: 'a' })).toEqual([ids[0]]);
    const newest = await list({});
    expect(newest).toEqual([...ids].sort().reverse());
    expect(await list({ before: newest[1] ?? null, limit: 1 })).toEqual([newest[2]]);
    await store.cancel(ids[0]!, 'ada');
    expect(await list({ states: ['ended'] })).toEqual([ids[0]]);
    expect(await list({ states: ['queued'], scope: 'a' })).toEqual([ids[1]]);
    expect(await list({ name: 'other' })).toEqual([]);
    expect(await list({ submittedBy: 'bo' })).toEqual([]);
  });

  test('cancelling a waiting job ends it, and doing it twice changes nothing', async () => {
    const store = await harness.store();
    const id = await submitted(store);
    const first = await store.cancel(id, 'bo');
    expect(first).toMatchObject({ value: { state: 'ended', attempt: 0, result: { outcome: 'cancelled' } } });
    const head = await store.head();
    const second = await store.cancel(id, 'bo');
    expect(second).toMatchObject({ outcome: 'committed', value: { state: 'ended' } });
    expect((await store.head()).sequence).toBe(head.sequence);
    expect(await store.hold(id, 'bo')).toEqual({ outcome: 'refused', refusal: 'already-ended' });
    expect(await store.cancel(newId.job(), 'bo')).toEqual({ outcome: 'refused', refusal: 'not-found' });
  });

  test('a change decided on a version the job has left is refused and changes nothing', async () => {
    const store = await harness.store();
    const id = await submitted(store);
    const stale = { outcome: 'refused', refusal: 'stale-version' };
    expect(await store.hold(id, 'bo', [1])).toMatchObject({ value: { state: 'held' } });
    const head = await store.head();
    for (const change of ['hold', 'release', 'cancel'] as const)
      for (const versions of [[1], [], [1, 3]])
        expect(await store[change](id, 'bo', versions)).toEqual(stale);
    expect(await store.head()).toEqual(head);
    expect(await store.cancel(id, 'bo', [1, 2])).toMatchObject({ value: { state: 'ended' } });
    // Ended or not: it is not what the caller saw.
    for (const change of ['hold', 'release', 'cancel'] as const)
      expect(await store[change](id, 'bo', [2])).toEqual(stale);
    expect(await store.hold(id, 'bo', [3])).toEqual({ outcome: 'refused', refusal: 'already-ended' });
    expect(await store.cancel(newId.job(), 'bo', [1])).toEqual({ outcome: 'refused', refusal: 'not-found' });
  });

  test('of many changes decided on the same version exactly one is made', async () => {
    const store = await harness.store();
    for (let round = 0; round < 10; round++) {
      const id = await submitted(store);
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => store[i % 2 === 0 ? 'hold' : 'cancel'](id, 'bo', [1])),
      );
      expect(answers.filter(({ outcome }) => outcome === 'committed')).toHaveLength(1);
      expect((await store.job(id))?.version).toBe(2);
    }
  });
}
