// Virtual worlds on real PostgreSQL: the store is the production one, and only the database's clock is the world's. A call
// leaves and comes back in virtual time; while it is with the real server, virtual time stands still, so that calls reach it one
// after the other in the order of the world.
import { type LogEvent, OperationalError } from '@muster/model';
import { openStore, type Store } from '@muster/store';
import { unavailable } from '@muster/store/rules';
import { databaseUrl, serverKinds, statement } from '@muster/store/testing';
import type { Random } from '../random.ts';
import type { Backend, MakeBackend } from '../world/backend.ts';
import { callTimeoutMs, type DatabaseWeather, latestCommitMs } from '../world/database-line.ts';
import type { VirtualProcess } from '../world/process.ts';
import type { Scheduler } from '../world/scheduler.ts';
import { type DatabaseClock, openDatabaseClock } from './database-clock.ts';

/** A server with one migrated database, of which every world gets a copy. It outlives a worker that has to be ended. */
export interface PostgresServer {
  readonly template: { readonly url: string; readonly name: string };
  stop(): Promise<void>;
}

export async function startPostgres(): Promise<PostgresServer> {
  const [kind] = serverKinds().kinds;
  if (!kind) throw new Error('there is no PostgreSQL');
  const server = await kind.start();
  const url = await server.database();
  const [row] = await statement<{ name: string }>(url, 'SELECT current_database() AS name');
  return { template: { url, name: row?.name ?? '' }, stop: () => server.stop() };
}

// How long this machine takes says nothing about a virtual world.
const patience = { statementTimeoutMs: 120_000, connectTimeoutMs: 120_000 };
let copies = 0;

/** Worlds on copies of the template; `owner` tells those of one worker from another's. */
export function onPostgres({ url, name }: PostgresServer['template'], owner: number): MakeBackend {
  const server = databaseUrl(url, 'postgres');
  return async (scheduler, _, skewMs) => {
    const copy = `world_${owner}_${++copies}`;
    await statement(server, `CREATE DATABASE ${copy} TEMPLATE ${name} STRATEGY file_copy`);
    const own = databaseUrl(url, copy);
    const clock = openDatabaseClock();
    await statement(own, clock.sql);
    const nowMs = () => scheduler.nowMs + skewMs();
    const open = () => openStore({ url: own, maxConnections: 4, ...patience });
    const drop = async () => void (await statement(server, `DROP DATABASE ${copy} WITH (FORCE)`));
    return new PostgresBackend({ scheduler, clock, nowMs, open, drop }, await open());
  };
}

/** Whose answer says that it is not known whether they took effect. */
const mayBeUnknown: ReadonlySet<string> = new Set([
  'submit',
  'cancel',
  'hold',
  'release',
  'commitPlan',
  'expire',
  'silenceOverdue',
  'freeze',
  'silenceOver',
  'noteCluster',
  'failOver',
  'hello',
  'renew',
  'observe',
  'drain',
]);

/** After which the log is as it was. */
const neverTold: ReadonlySet<string> = new Set([
  'nowMs',
  'eventsSince',
  'loadEngine',
  'leases',
  'frozen',
  'nodeKey',
  'nodeSessions',
  'leader',
  'job',
  'counts',
  'policy',
  'renew',
  'renewLease',
  'announceServer',
]);

type Call = (...values: unknown[]) => Promise<unknown>;

interface BackendDeps {
  readonly scheduler: Scheduler;
  readonly clock: DatabaseClock;
  readonly nowMs: () => number;
  readonly open: () => Promise<Store>;
  readonly drop: () => Promise<void>;
}

class PostgresBackend implements Backend {
  readonly direct: Store;
  readonly #deps: BackendDeps;
  readonly #scheduler: Scheduler;
  readonly #stores: Promise<Store>[] = [];
  readonly #byServer = new Map<DatabaseWeather, Promise<Store>>();
  readonly #hints = new Set<() => void>();
  #dirty = true;
  #sequence = 0;

  constructor(deps: BackendDeps, direct: Store) {
    this.#deps = deps;
    this.#scheduler = deps.scheduler;
    this.#stores.push(Promise.resolve(direct));
    this.direct = this.#wrapped(direct, (name, call) => this.#atServer(name, call));
  }

  open(process: VirtualProcess, weather: DatabaseWeather, random: Random): Store {
    const opened = this.#byServer.get(weather) ?? this.#deps.open();
    if (!this.#byServer.has(weather)) this.#stores.push(opened);
    this.#byServer.set(weather, opened);
    const store = this.#wrapped(this.direct, (name, _, values) =>
      this.#travel(name, process, weather, random, async () => {
        const own = (await opened) as unknown as Record<string, Call>;
        return own[name]?.call(own, ...values);
      }),
    );
    return { ...store, onEvents: (hint) => this.#listen(process, weather, random, hint) };
  }

  #listen(process: VirtualProcess, weather: DatabaseWeather, random: Random, hint: () => void): () => void {
    const own = () => {
      if (!random.chance(weather.lostHint))
        this.#scheduler.after(1 + random.below(weather.delayMs), () => process.deliver(hint));
    };
    this.#hints.add(own);
    return () => this.#hints.delete(own);
  }

  /** There and back again in virtual time, in the weather of the moment. */
  #travel(
    name: string,
    process: VirtualProcess,
    weather: DatabaseWeather,
    random: Random,
    call: () => Promise<unknown>,
  ): Promise<unknown> {
    const hop = (): number => 1 + random.below(weather.delayMs);
    const lost = mayBeUnknown.has(name) && random.chance(weather.lostCommit);
    return new Promise((resolve, reject) => {
      const back = (ms: number, settle: () => void): void => {
        this.#scheduler.after(ms, () => process.deliver(settle));
      };
      const arrive = (): void => {
        if (weather.reach !== 'up') {
          const afterMs = weather.reach === 'refused' ? 1 : callTimeoutMs;
          back(afterMs, () => reject(unavailable(new Error('no connection'))));
        } else if (lost) {
          this.#loseCommit(name, random, call);
          back(hop() + random.below(callTimeoutMs), () => resolve({ outcome: 'unknown' }));
        } else
          this.#atServer(name, call).then(
            (value) => back(hop(), () => resolve(value)),
            (error: unknown) => back(hop(), () => reject(error)),
          );
      };
      this.#scheduler.after(hop(), arrive);
    });
  }

  /** Applied, applied later than the caller is told, or not at all; what came of it reaches nobody. */
  #loseCommit(name: string, random: Random, call: () => Promise<unknown>): void {
    const fate = random.below(3);
    const apply = async (): Promise<void> => {
      try {
        await this.#atServer(name, call);
      } catch (error) {
        // Anything else is a bug, and found as one that nobody awaits.
        if (!(error instanceof OperationalError)) throw error;
      }
    };
    if (fate === 0) void apply();
    if (fate === 1) this.#scheduler.after(random.below(latestCommitMs), () => void apply());
  }

  /** At the real server, whose clock is set to the world's first. */
  #atServer(name: string, call: () => Promise<unknown>): Promise<unknown> {
    if (!neverTold.has(name)) this.#dirty = true;
    this.#deps.clock.set(this.#deps.nowMs());
    return this.#scheduler.outside(call());
  }

  #wrapped(
    store: Store,
    travel: (name: string, call: () => Promise<unknown>, values: readonly unknown[]) => Promise<unknown>,
  ): Store {
    const methods = store as unknown as Record<string, Call>;
    return Object.fromEntries(
      Object.keys(methods).map((name) => [
        name,
        (...values: unknown[]) => travel(name, async () => methods[name]?.call(store, ...values), values),
      ]),
    ) as unknown as Store;
  }

  async news(): Promise<readonly LogEvent[]> {
    if (!this.#dirty) return [];
    this.#dirty = false;
    const events = await this.direct.eventsSince(this.#sequence, 10_000);
    this.#sequence = events.at(-1)?.sequence ?? this.#sequence;
    if (events.length > 0) for (const hint of [...this.#hints]) hint();
    return events;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map(async (store) => (await store).close()));
    this.#deps.clock.close();
    await this.#deps.drop();
  }
}
