// One server, whole: store, control plane and API in this process, on a database that is already there. `muster up`,
// `muster server` and the quickstart all start this and nothing else.
import { randomBytes } from 'node:crypto';
import { type ApiConfig, createApi, ensureAdminToken } from '@muster/api';
import { type ControlPlane, startControlPlane } from '@muster/control';
import { freshId, type VersionView } from '@muster/model';
import { openStore, type PgStore } from '@muster/store';
import type { Logger } from 'pino';

export interface StackOptions {
  readonly databaseUrl: string;
  readonly api: ApiConfig;
  readonly version: VersionView;
  readonly log: Logger;
  /** A bug was met: say so and end the process, so that it starts clean. */
  readonly onBug: (error: unknown) => void;
}

export interface Stack {
  readonly url: string;
  readonly store: PgStore;
  readonly control: ControlPlane;
  /** The text of the first admin token, on the very first start of this database; null afterwards. */
  readonly adminToken: string | null;
  /** Running work goes on; the lease is given back. */
  stop(): Promise<void>;
}

const clock = { nowMs: () => Date.now() };
const random = (bytes: number): Uint8Array => randomBytes(bytes);

export async function startStack({
  databaseUrl,
  api: config,
  version,
  log,
  onBug,
}: StackOptions): Promise<Stack> {
  const parts: { readonly stop: () => Promise<unknown> }[] = [];
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0)) await part.stop();
  };
  try {
    const store = await openStore({ url: databaseUrl });
    parts.unshift({ stop: () => store.close() });
    const server = freshId('server', clock.nowMs(), random(9));
    let url = config.publicUrl ?? '';
    const control = await startControlPlane({ store, databaseUrl, server, publicUrl: () => url, log, onBug });
    parts.unshift(control);
    const api = await createApi({ store, control, clock, random, log, version, config });
    parts.unshift({ stop: () => api.close() });
    const listening = await api.listen();
    url = config.publicUrl ?? listening.url;
    // Only now: a token made for a server that then fails to listen would be shown to nobody, and never again.
    const adminToken = await ensureAdminToken(store, { clock, random });
    log.info({ server, url }, 'listening');
    return { url: listening.url, store, control, adminToken, stop };
  } catch (error) {
    await stop().catch((trouble: unknown) =>
      log.warn({ err: trouble }, 'while stopping after a failed start'),
    );
    throw error;
  }
}
