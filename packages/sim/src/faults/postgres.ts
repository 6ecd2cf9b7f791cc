// Virtual worlds on real PostgreSQL: the store is the production one, and only the database's clock is the world's. A call
// leaves and comes back in virtual time; while it is with the real server, virtual time stands still, so that calls reach it one
// after the other in the order of the world.
import type { LogEvent } from '@muster/model';
import { openStore, type Store } from '@muster/store';
import { unavailable } from '@muster/store/rules';
import { serverKinds, statements } from '@muster/store/testing';
import type { Random } from '../random.ts';
import type { Backend, MakeBackend } from '../world/backend.ts';
import type { DatabaseWeather } from '../world/database-line.ts';
import type { VirtualProcess } from '../world/process.ts';
import type { Scheduler } from '../world/scheduler.ts';

export interface PostgresWorlds {
  readonly backend: MakeBackend;
  stop(): Promise<void>;
}

const virtualClock = `
CREATE TABLE sim_clock (now_ms bigint NOT NULL);
INSERT INTO sim_clock VALUES (0);
CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT now_ms FROM sim_clock $$`;

export async function openPostgres(): Promise<PostgresWorlds> {
  const [kind] = serverKinds().kinds;
  if (!kind) throw new Error('there is no PostgreSQL');
  const server = await kind.start();
  return {
    backend: async (scheduler, _, skewMs) => {
      const url = await server.database();
      const clock = await statements(url);
      await clock.run(virtualClock);
      const nowMs = () => scheduler.nowMs + skewMs();
      const open = () => openStore({ url, maxConnections: 4 });
      return new PostgresBackend(scheduler, clock, nowMs, open, await open());
    },
    stop: () => server.stop(),
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
  'hello',
  'renew',
  'observe',
  'drain',
]);

const reads: ReadonlySet<string> = new Set([
  'nowMs',
  'eventsSince',
  'loadEngine',
  'leases',
  'frozen',
  'nodeKey',
  'leader',
]);
const callTimeoutMs = 5000;

type Statements = Awaited<ReturnType<typeof statements>>;
type Call = (...values: unknown[]) => Promise<unknown>;

class PostgresBackend implements Backend {
  readonly direct: Store;
  readonly #scheduler: Scheduler;
  readonly #clock: Statements;
  readonly #nowMs: () => number;
  readonly #openStore: () => Promise<Store>;
  readonly #stores: Promise<Store>[] = [];
  readonly #byServer = new Map<DatabaseWeather, Promise<Store>>();
  readonly #hints = new Set<() => void>();
  #clockMs = 0;
  #dirty = true;
  #sequence = 0;

  constructor(
    scheduler: Scheduler,
    clock: Statements,
    nowMs: () => number,
    open: () => Promise<Store>,
    direct: Store,
  ) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.#nowMs = nowMs;
    this.#openStore = open;
    this.#stores.push(Promise.resolve(direct));
    this.direct = this.#wrapped(direct, (name, call) => this.#atServer(name, call));
  }

  open(process: VirtualProcess, weather: DatabaseWeather, random: Random): Store {
    const opened = this.#byServer.get(weather) ?? this.#openStore();
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
    const applied = random.chance(0.5);
    return new Promise((resolve, reject) => {
      const back = (ms: number, settle: () => void): void => {
        this.#scheduler.after(ms, () => process.deliver(settle));
      };
      const unknown = (): void =>
        back(hop() + random.below(callTimeoutMs), () => resolve({ outcome: 'unknown' }));
      this.#scheduler.after(hop(), () => {
        if (weather.reach !== 'up') {
          const afterMs = weather.reach === 'refused' ? 1 : callTimeoutMs;
          back(afterMs, () => reject(unavailable(new Error('no connection'))));
        } else if (lost && !applied) unknown();
        else
          this.#atServer(name, call).then(
            (value) => (lost ? unknown() : back(hop(), () => resolve(value))),
            (error: unknown) => back(hop(), () => reject(error)),
          );
      });
    });
  }

  /** At the real server, whose clock is set to the world's first. */
  #atServer(name: string, call: () => Promise<unknown>): Promise<unknown> {
    if (!reads.has(name)) this.#dirty = true;
    return this.#scheduler.outside(
      (async () => {
        const nowMs = Math.max(this.#clockMs, this.#nowMs());
        if (nowMs !== this.#clockMs) {
          this.#clockMs = nowMs;
          await this.#clock.run('UPDATE sim_clock SET now_ms = $1', [nowMs]);
        }
        return call();
      })(),
    );
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
    await this.#clock.end();
  }
}
