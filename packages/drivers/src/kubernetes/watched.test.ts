// How often a watch asks when everything fails. What it keeps, and what it does when it is cut: tests/kubernetes, on a real API server.
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ApiError, type KubeClient } from './client.ts';
import { watch } from './watched.ts';

const empty = { metadata: { resourceVersion: '1' }, items: [] };

/** Lists once, then never again; what it followed is compacted away when `compact` is called. */
function play() {
  let lists = 0;
  let compact: () => void = () => {};
  const compacted = new Promise<void>((resolve) => {
    compact = resolve;
  });
  const client: KubeClient = {
    async call() {
      if (lists++ === 0) return empty;
      throw new ApiError(503, '', 'etcd is away');
    },
    async stream(_path, signal) {
      await Promise.race([
        compacted,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]);
      throw new ApiError(410, 'Expired', 'too old resource version');
    },
    close: () => {},
  };
  return { client, compact, lists: () => lists };
}

it('waits between lists that fail, also after a refresh, and says with what it broke', async () => {
  const { client, compact, lists } = play();
  const watched = watch(client, { path: '/x', read: () => null, believedMs: 0 });
  try {
    await watched.all();
    compact();
    await expect(watched.refresh()).rejects.toThrow('etcd is away');
    await expect(watched.refresh()).rejects.toThrow('etcd is away');
    const before = lists();
    await pause(300);
    // Without a wait it would be thousands.
    expect(lists() - before).toBeLessThan(10);
  } finally {
    watched.close();
  }
});

it('says with what a watch broke', async () => {
  const client: KubeClient = {
    call: async () => empty,
    stream: () => Promise.reject(new ApiError(401, '', 'Unauthorized')),
    close: () => {},
  };
  const watched = watch(client, { path: '/x', read: () => null, believedMs: 0 });
  try {
    for (let i = 0; ; i++) {
      const error = await watched.all().then(
        () => null,
        (thrown: Error) => thrown.message,
      );
      if (error !== null || i > 200) {
        expect(error).toBe('the watch of /x is broken: Unauthorized');
        break;
      }
      await pause(20);
    }
  } finally {
    watched.close();
  }
});
