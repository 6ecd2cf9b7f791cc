// How often a watch asks when everything fails, and which of a list and an event it takes for newer. What it does when it is cut:
// tests/kubernetes, on a real API server.
import { PassThrough } from 'node:stream';
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

interface Thing {
  readonly uid: string;
  readonly version: number;
}

const object = ({ uid, version }: Thing) => ({ metadata: { uid, resourceVersion: String(version) } });
const listOf = (version: number, things: readonly Thing[]) => ({
  metadata: { resourceVersion: String(version) },
  items: things.map(object),
});

/** What is listed next, and events of the watch, are said by the test; `kept` is what is known, as `uid version`. */
function playThings() {
  let answer: () => Promise<unknown> = async () => listOf(10, [{ uid: 'a', version: 3 }]);
  let events = new PassThrough();
  const paths: string[] = [];
  const client: KubeClient = {
    async call(_method, path) {
      paths.push(path);
      return answer();
    },
    async stream(_path, signal) {
      events = Object.assign(new PassThrough(), { setTimeout: () => {} });
      signal.addEventListener('abort', () => events.destroy());
      return events as never;
    },
    close: () => {},
  };
  const read = (told: unknown): Thing => {
    const { uid, resourceVersion } = (told as ReturnType<typeof object>).metadata;
    return { uid, version: Number(resourceVersion) };
  };
  const watched = watch(client, { path: '/things', read });
  return {
    watched,
    paths,
    lists(next: () => Promise<unknown>) {
      answer = next;
    },
    async tells(type: string, thing: Thing) {
      events.write(`${JSON.stringify({ type, object: object(thing) })}\n`);
      await pause(5);
    },
    async kept() {
      return [...(await watched.all()).values()].map(({ uid, version }) => `${uid} ${version}`).sort();
    },
  };
}

it('takes what was listed alone where its watch has not come so far, and then no older event', async () => {
  const { watched, paths, lists, tells, kept } = playThings();
  try {
    expect(await kept()).toEqual(['a 3']);
    await pause(20);
    await tells('ADDED', { uid: 'b', version: 12 });
    lists(async () => listOf(20, [{ uid: 'a', version: 15 }]));
    expect(await watched.refreshOnly('spec.nodeName=n1')).toEqual([{ uid: 'a', version: 15 }]);
    expect(paths.at(-1)).toContain('fieldSelector=spec.nodeName%3Dn1');
    expect(await kept()).toEqual(['a 15', 'b 12']);
    await tells('MODIFIED', { uid: 'a', version: 13 });
    expect(await kept()).toEqual(['a 15', 'b 12']);
    await tells('MODIFIED', { uid: 'a', version: 16 });
    // A list that is on its way is older than what the watch tells meanwhile.
    const late = Promise.withResolvers<unknown>();
    lists(() => late.promise);
    const only = watched.refreshOnly('spec.nodeName=n1');
    await tells('DELETED', { uid: 'b', version: 17 });
    late.resolve(listOf(16, [{ uid: 'b', version: 12 }]));
    await only;
    expect(await kept()).toEqual(['a 16']);
    // Two lists on their way, and the older one comes last.
    lists(async () => listOf(30, [{ uid: 'c', version: 29 }]));
    await watched.refreshOnly('metadata.name=c');
    lists(async () => listOf(28, [{ uid: 'c', version: 27 }]));
    await watched.refreshOnly('metadata.name=c');
    expect(await kept()).toEqual(['a 16', 'c 29']);
  } finally {
    watched.close();
  }
});

it('keeps what was listed alone through a list of all that began before, and not through one of an API server that was set back', async () => {
  const { watched, lists, kept } = playThings();
  try {
    expect(await kept()).toEqual(['a 3']);
    const long = Promise.withResolvers<unknown>();
    lists(() => long.promise);
    const all = watched.refresh();
    await pause(5);
    lists(async () => listOf(30, [{ uid: 'c', version: 28 }]));
    await watched.refreshOnly('metadata.name=c');
    long.resolve(listOf(25, [{ uid: 'a', version: 24 }]));
    await all;
    expect(await kept()).toEqual(['a 24', 'c 28']);
    // Whoever asks for one only is answered by an older cluster, and believes all of that.
    lists(async () => listOf(2, [{ uid: 'a', version: 1 }]));
    await watched.refreshOnly('metadata.name=a');
    expect(await kept()).toEqual(['a 1']);
  } finally {
    watched.close();
  }
});

it('keeps what was listed alone ahead of its watch when a list of all fails', async () => {
  const { watched, lists, tells, kept } = playThings();
  try {
    await kept();
    await pause(20);
    lists(async () => listOf(20, [{ uid: 'a', version: 15 }]));
    await watched.refreshOnly('metadata.name=a');
    lists(() => Promise.reject(new ApiError(503, '', 'etcd is away')));
    await expect(watched.refresh()).rejects.toThrow('etcd is away');
    lists(async () => listOf(20, [{ uid: 'a', version: 15 }]));
    await pause(500);
    await tells('MODIFIED', { uid: 'a', version: 13 });
    expect(await kept()).toEqual(['a 15']);
  } finally {
    watched.close();
  }
});
