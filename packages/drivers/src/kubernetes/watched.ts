// All objects of one kind that a selector picks, kept as they are in the cluster: listed once, then followed by a watch. A watch
// that ends is taken up where it stopped; one that the API server cannot take up (410) is a reason to list again. A line that was
// cut off is no event: nothing is applied of it, and the watch goes on from the event before.
//
// A part of them can be listed while the watch goes on, and is then ahead of it. Which of the two is newer is told by the resource
// versions, numbers that grow: what is listed counts where the watch has not come so far, and what the watch tells of it until it has
// is old.
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { ApiError, type KubeClient, waitMs } from './client.ts';

export interface Watched<T> {
  /** By uid; rejects until there was a first list, and when the watch is broken for longer than is believed. */
  all(): Promise<ReadonlyMap<string, T>>;
  /** Lists again, so that nothing which was answered before this call is missing. */
  refresh(): Promise<ReadonlyMap<string, T>>;
  /** The same for those alone that a selector picks further, which costs no list of all; gives them. */
  refreshOnly(fieldSelector: string): Promise<readonly T[]>;
  close(): void;
}

export interface WatchSettings<T> {
  /** Of the collection, with its selectors. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Null for what does not count. */
  readonly read: (object: unknown) => T | null;
  /** For how long what is kept is believed after the watch broke. */
  readonly believedMs?: number;
  /** Called with every change of what is kept, so that nobody has to look through all of it; null is what is not there. */
  readonly onChange?: (before: T | null, after: T | null) => void;
}

const resourceVersion = z.string().regex(/^\d+$/);
const list = z.object({
  metadata: z.object({ resourceVersion, continue: z.string().optional() }),
  items: z.array(z.unknown()),
});
const named = z.object({ metadata: z.object({ uid: z.string() }) });
/** A bookmark has no uid. */
const about = z.object({ metadata: z.object({ uid: z.string().optional(), resourceVersion }) });
const event = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.unknown(),
});
const failure = z.object({ code: z.int().optional(), message: z.string().optional() });

const pageSize = 500;
/** A watch is ended by the API server after so long, and taken up again. */
const watchS = 290;
/** Bookmarks come every minute: a watch that tells nothing for longer is dead. */
const silentMs = 100_000;
const maxWaitMs = 10_000;
const betweenMs = 100;

export function watch<T>(client: KubeClient, settings: WatchSettings<T>): Watched<T> {
  const { path, query = {}, read, believedMs = 20_000, onChange = () => {} } = settings;
  const closing = new AbortController();
  let current = new Map<string, T>();
  let version: string | null = null;
  let broken: { readonly sinceMs: number; why: string } | null = null;
  let listing: Promise<void> | null = null;
  let following = new AbortController();
  /** By uid, the version of what was listed by itself, until the watch has come so far. */
  const ahead = new Map<string, number>();

  const at = (more: Readonly<Record<string, string>>): string =>
    `${path}?${new URLSearchParams({ ...query, ...more })}`;

  /** Whole, as of the version that it gives. */
  async function listAll(
    more: Readonly<Record<string, string>>,
    take: (item: unknown) => void,
  ): Promise<string> {
    let next: string | undefined;
    for (;;) {
      const pageOf = { ...more, limit: String(pageSize), ...(next ? { continue: next } : {}) };
      const page = list.parse(await client.call('GET', at(pageOf)));
      for (const item of page.items) take(item);
      next = page.metadata.continue;
      if (!next) return page.metadata.resourceVersion;
    }
  }

  async function relist(): Promise<void> {
    const before = new Map(ahead);
    const found = new Map<string, T>();
    const listedVersion = await listAll({}, (item) => {
      const value = read(item);
      if (value !== null) found.set(named.parse(item).metadata.uid, value);
    });
    // A long list is of when it began: what was listed by itself since may be newer.
    for (const [uid, own] of ahead) {
      const value = current.get(uid);
      if (before.get(uid) === own || own <= Number(listedVersion)) ahead.delete(uid);
      else if (value !== undefined) found.set(uid, value);
    }
    replace(found);
    version = listedVersion;
  }

  async function refresh(): Promise<ReadonlyMap<string, T>> {
    // One that is under way may have begun before this call.
    await listing?.catch(() => {});
    const again = listed();
    following.abort();
    await again;
    return current;
  }

  async function listOnly(fieldSelector: string): Promise<readonly T[]> {
    if (version === null) await listed();
    const began = Number(version);
    const found: T[] = [];
    const narrowed = [query.fieldSelector, fieldSelector].filter((one) => one !== undefined).join(',');
    const listedVersion = await listAll({ fieldSelector: narrowed }, (item) => {
      const value = read(item);
      if (value === null) return;
      found.push(value);
      const { uid = '', resourceVersion: own } = about.parse(item).metadata;
      // What the watch has come to it has told, and perhaps more of it since.
      if (Number(own) <= Math.max(Number(version), ahead.get(uid) ?? 0)) return;
      ahead.set(uid, Number(own));
      keep(uid, value);
    });
    // No list is behind a watch that it begins after, unless the cluster was set back: then no version says anything.
    if (Number(listedVersion) < began) await refresh();
    return found;
  }

  function replace(found: Map<string, T>): void {
    const before = current;
    current = found;
    for (const [uid, value] of before) if (!found.has(uid)) onChange(value, null);
    for (const [uid, value] of found) onChange(before.get(uid) ?? null, value);
  }

  function keep(uid: string, value: T | null): void {
    const before = current.get(uid) ?? null;
    if (value === null) current.delete(uid);
    else current.set(uid, value);
    if (before !== null || value !== null) onChange(before, value);
  }

  function listed(): Promise<void> {
    listing ??= relist().finally(() => {
      listing = null;
    });
    return listing;
  }

  function apply(line: string): void {
    const { type, object } = event.parse(JSON.parse(line));
    if (type === 'ERROR') {
      const { code = 500, message = 'the watch failed' } = failure.parse(object);
      throw new ApiError(code, '', message);
    }
    const { uid = '', resourceVersion: told } = about.parse(object).metadata;
    const isOld = Number(told) < (ahead.get(uid) ?? 0);
    if (!isOld) ahead.delete(uid);
    if (type !== 'BOOKMARK' && !isOld) keep(uid, type === 'DELETED' ? null : read(object));
    version = told;
  }

  async function follow(from: string): Promise<void> {
    const own = new AbortController();
    following = own;
    const signal = AbortSignal.any([closing.signal, own.signal]);
    const more = { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(watchS) };
    const stream = await client.stream(at({ ...more, resourceVersion: from }), signal);
    broken = null;
    stream.setTimeout(silentMs, () => stream.destroy());
    for await (const line of linesOf(stream as AsyncIterable<Buffer>)) {
      // A refresh has listed since: what this one tells may be older.
      if (own.signal.aborted) return;
      apply(line);
    }
  }

  async function run(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      try {
        if (listing || version === null) await listed();
        if (version !== null) await follow(version);
        failures = 0;
        // A server that ends every watch at once must not be asked all the time.
        await pause(betweenMs);
      } catch (error) {
        if (closing.signal.aborted) return;
        if (error instanceof ApiError && error.status === 410) version = null;
        else if (following.signal.aborted) {
          // For a refresh, whose list is next. If that fails, it is a failure like any other.
          following = new AbortController();
        } else {
          broken ??= { sinceMs: performance.now(), why: '' };
          broken.why = error instanceof Error ? error.message : String(error);
          await pause(Math.min(maxWaitMs, waitMs(++failures)), undefined, { signal: closing.signal }).catch(
            () => {},
          );
        }
      }
    }
  }

  const loop = run();
  return {
    async all() {
      if (version === null) await listed();
      if (broken !== null && performance.now() - broken.sinceMs > believedMs)
        throw new Error(`the watch of ${path} is broken: ${broken.why}`);
      return current;
    },
    refresh,
    refreshOnly: listOnly,
    close() {
      closing.abort();
      void loop;
    },
  };
}

/** Whole lines only. */
async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const piece of stream) {
    let from = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, end)]).toString('utf8');
      rest = [];
      from = end + 1;
    }
    if (from < piece.length) rest.push(piece.subarray(from));
  }
}
