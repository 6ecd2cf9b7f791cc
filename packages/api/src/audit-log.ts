// Who did what, from where, and what came of it. Entries are gathered and written in batches off the request path, so that
// auditing costs a submit nothing; equal entries of one batch become one row with a count, so that a flood of refusals
// cannot fill the table. Accepted submits are not written here: the event log already names who submitted what.
import type { NewAudit, Store } from '@muster/store';
import type { Logger } from 'pino';

export interface AuditLog {
  add(entry: NewAudit): void;
  /** Writes what is gathered; called before the server closes and by tests. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const flushEveryMs = 200;
const maxPending = 10_000;

interface Counted {
  readonly entry: NewAudit;
  count: number;
}

export function createAuditLog(store: Pick<Store, 'audit'>, log: Logger): AuditLog {
  let pending = new Map<string, Counted>();
  let dropped = 0;
  let writing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => void flush(), flushEveryMs);
  timer.unref();

  async function write(): Promise<void> {
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    try {
      await store.audit([...batch.values()].map(withCount));
      if (dropped > 0) log.error({ dropped }, 'audit entries were dropped while the database was away');
      dropped = 0;
    } catch (error) {
      log.warn({ err: error }, 'audit entries could not be written; trying again');
      // Newer entries go behind the ones that wait already.
      const newer = pending;
      pending = batch;
      for (const { entry, count } of newer.values()) put(entry, count);
    }
  }

  function put(entry: NewAudit, count: number): void {
    const key = JSON.stringify(entry);
    const known = pending.get(key);
    if (known) known.count += count;
    else if (pending.size < maxPending) pending.set(key, { entry, count });
    else dropped += count;
  }

  // One write at a time keeps rows in the order of the requests.
  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  return {
    add: (entry) => put(entry, 1),
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

function withCount({ entry, count }: Counted): NewAudit {
  return count === 1 ? entry : { ...entry, detail: { ...entry.detail, count } };
}
