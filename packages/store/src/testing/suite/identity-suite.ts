import { defaultPolicy } from '@muster/model';
import { expect, test } from 'vitest';
import { newId } from '../builders.ts';
import type { Harness } from './harness.ts';

export function identitySuite(harness: Harness): void {
  test('an empty database has the default policy and one project', async () => {
    const store = await harness.store();
    expect(await store.policy()).toEqual({ version: 1, policy: defaultPolicy });
    expect((await store.projects(null)).map((project) => project.path)).toEqual(['default']);
    expect(await store.head()).toMatchObject({ sequence: 0, first: 1 });
  });

  test('a project needs its parent and is made once', async () => {
    const store = await harness.store();
    expect(await store.createProject('a/b', 'ada')).toEqual({ outcome: 'refused', refusal: 'no-parent' });
    expect(await store.createProject('a', 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.createProject('a', 'ada')).toEqual({ outcome: 'refused', refusal: 'exists' });
    expect(await store.createProject('a/b', 'ada')).toMatchObject({ outcome: 'committed' });
    expect(await store.createProject('a-b', 'ada')).toMatchObject({ outcome: 'committed' });
    expect((await store.projects('a')).map((project) => project.path)).toEqual(['a', 'a/b']);
  });

  test('a token lives until it is revoked or runs out, and remembers its use', async () => {
    const store = await harness.store();
    const now = await store.nowMs();
    const make = (hash: string, expiresMs: number | null) =>
      store.createToken({
        id: newId.token(),
        name: 't',
        hash,
        role: 'member',
        project: null,
        by: 'ada',
        expiresMs,
      });
    await make('live', null);
    await make('old', now - 1);
    const token = await store.tokenByHash('live');
    expect(token).toMatchObject({ name: 't', role: 'member', revokedMs: null });
    expect(token?.lastUsedMs).toBeGreaterThanOrEqual(now);
    expect((await store.tokenByHash('live'))?.lastUsedMs).toBe(token?.lastUsedMs);
    expect(await store.tokenByHash('old')).toBeNull();
    expect(await store.tokenByHash('none')).toBeNull();
    expect(await store.revokeToken(token!.id)).toBe(true);
    expect(await store.revokeToken(token!.id)).toBe(false);
    expect(await store.tokenByHash('live')).toBeNull();
    expect(await store.tokens()).toHaveLength(2);
  });

  test('audit rows are numbered in order, whoever writes them', async () => {
    const store = await harness.store();
    const entry = (action: string) => ({
      who: 'ada',
      from: '::1',
      action,
      target: 'x',
      outcome: 'ok',
      detail: { n: 1 },
    });
    await Promise.all(Array.from({ length: 10 }, (_, i) => store.audit([entry(`a${i}`), entry(`b${i}`)])));
    const rows = await store.auditSince(0, 100);
    expect(rows.map((row) => row.id)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(rows[0]).toMatchObject({ who: 'ada', from: '::1', outcome: 'ok', detail: { n: 1 } });
    expect(await store.auditSince(18, 100)).toHaveLength(2);
  });

  test('time does not go back', async () => {
    const store = await harness.store();
    const first = await store.nowMs();
    await harness.pass(2);
    expect(await store.nowMs()).toBeGreaterThanOrEqual(first);
  });
}
