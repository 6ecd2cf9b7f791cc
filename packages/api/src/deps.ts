// What the API is made from, and the one object its handlers see. Everything with an effect comes in as an argument, so
// that a test can turn the clock and a server can be started twice in one process.
import type { ControlPlane } from '@muster/control';
import type { VersionView } from '@muster/model';
import type { Store } from '@muster/store';
import type { Logger } from 'pino';
import type { AuditLog } from './audit-log.ts';
import type { Authenticator } from './auth.ts';
import type { Changes } from './changes.ts';
import type { Cursors } from './cursor.ts';
import type { Metrics } from './metrics.ts';
import type { Buckets } from './rate-limit.ts';
import type { StreamSet } from './sse.ts';
import type { Tenancy } from './tenancy.ts';

export interface ApiConfig {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** PEM files. Null: plain HTTP, allowed on loopback or behind a proxy that ends TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** The operator's word that a proxy in front ends TLS; also makes its X-Forwarded-For believed. */
  readonly behindTlsProxy: boolean;
  readonly publicUrl?: string;
  /** Largest body of every route but the batch, which may have 32 MiB. */
  readonly maxBodyBytes: number;
  readonly rateLimit?: RateLimit;
  readonly maxStreamsPerToken?: number;
}

/** A token bucket: `burst` at once, refilled at `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export const defaultRateLimit: RateLimit = { perSecond: 2000, burst: 4000 };
export const defaultMaxBodyBytes = 1024 * 1024;
export const defaultMaxStreamsPerToken = 100;

export interface ApiDeps {
  readonly store: Store;
  readonly control: ControlPlane;
  readonly clock: { nowMs(): number };
  readonly random: (bytes: number) => Uint8Array;
  readonly log: Logger;
  readonly version: VersionView;
  readonly config: ApiConfig;
}

/** What a handler works with. */
export interface Api extends ApiDeps {
  readonly auth: Authenticator;
  readonly audit: AuditLog;
  readonly buckets: Buckets;
  readonly changes: Changes;
  readonly cursors: Cursors;
  /** Nine random bytes for an id. */
  readonly idRandom: () => Uint8Array;
  readonly metrics: Metrics;
  readonly streams: StreamSet;
  readonly tenancy: Tenancy;
  /** Metrics and readiness details are open to nobody but this machine when only this machine can ask. */
  readonly localOnly: boolean;
}
