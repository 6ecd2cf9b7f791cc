// A virtual world: servers with the production control plane, machines with agents, ways between them, a database, and one
// seed from which everything in it is drawn. Who changes it (clients, operators, faults) is elsewhere.
import { generateKeyPairSync, sign } from 'node:crypto';
import {
  type ConfigOf,
  freshId,
  type Inventory,
  type NodeId,
  type Policy,
  type ServerId,
} from '@muster/model';
import type { ServerInfo, Store } from '@muster/store';
import { type Random, seeded } from '../random.ts';
import { type Backend, type MakeBackend, memoryBackend } from './backend.ts';
import { BatchCluster } from './batch-cluster.ts';
import { Connection, openWay, type Way } from './connection.ts';
import { type DatabaseWeather, fairWeather } from './database-line.ts';
import { Ground } from './ground.ts';
import { Machine } from './machine.ts';
import { Programs } from './programs.ts';
import { beginMs, Scheduler } from './scheduler.ts';
import { Server } from './server.ts';

export interface FleetMachine {
  readonly name: string;
  readonly cluster: string;
  readonly inventory: Inventory;
}

export interface WorldSpec {
  readonly seed: number;
  readonly servers: number;
  readonly fleet: readonly FleetMachine[];
  /** A batch system with so many nodes beside the machines. */
  readonly batch?: {
    readonly kind: 'slurm' | 'kubernetes';
    readonly nodes: number;
    readonly inventory: Inventory;
    /** Its operator says that older attempts cannot write to the checkpoints of its jobs. */
    readonly fenced: boolean;
  };
  readonly projects: readonly string[];
  readonly policy: Policy;
  /** Clocks go faster or slower than the world's by up to this part, each by its own; the database's too. */
  readonly drift?: number;
  readonly backend?: MakeBackend;
  /** Put between a server and its store, to watch what it asks. */
  readonly watched?: (server: ServerId, store: Store) => Store;
}

// What a node signs with does not show in anything that follows, so one key serves all worlds of this process.
const keys = generateKeyPairSync('ed25519');
const publicKey = keys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
const dialTimeoutMs = 5000;
/** On a shorter clock. How it would be reached does not matter: the world's own driver reaches it. */
const batchConfig: ConfigOf<'slurm'> = {
  kind: 'slurm',
  pool: 'main',
  capacity: 'owned',
  directory: '/shared',
  projects: {},
  devices: {},
  ports: { first: 20_000, count: 40 },
  lostAfter: '10s',
  fencedCheckpoints: false,
};

export class VirtualWorld {
  readonly seed: number;
  readonly scheduler = new Scheduler();
  readonly random: Random;
  readonly ground = new Ground();
  readonly programs = new Programs();
  readonly servers: Server[] = [];
  readonly machines: Machine[] = [];
  readonly weather = new Map<ServerId, DatabaseWeather>();
  readonly connections = new Set<Connection>();
  batch: { readonly cluster: BatchCluster; readonly inventory: Inventory } | null = null;
  readonly logged: string[] = [];
  readonly backend: Backend;
  skewMs = 0;
  bug: unknown = null;
  readonly #network: Random;
  readonly #rate: () => number;
  readonly #ways = new Map<string, Way>();

  private constructor(
    spec: WorldSpec,
    scheduler: Scheduler,
    random: Random,
    backend: Backend,
    rate: () => number,
  ) {
    this.seed = spec.seed;
    this.scheduler = scheduler;
    this.random = random;
    this.#network = random.split('network');
    this.backend = backend;
    this.#rate = rate;
  }

  static async make(spec: WorldSpec): Promise<VirtualWorld> {
    const random = seeded(spec.seed);
    const scheduler = new Scheduler();
    let skewMs = () => 0;
    const backend = await (spec.backend ?? memoryBackend)(scheduler, random, () => skewMs());
    const rates = random.split('rates');
    const rate = (): number => 1 + (spec.drift ?? 0) * (2 * rates.unit() - 1);
    const databaseRate = rate();
    const world = new VirtualWorld(spec, scheduler, random, backend, rate);
    skewMs = () => world.skewMs + Math.floor((scheduler.nowMs - beginMs) * (databaseRate - 1));
    await world.#populate(spec);
    return world;
  }

  get nowMs(): number {
    return this.scheduler.nowMs;
  }

  way(machine: Machine, server: Server): Way {
    const name = `${machine.node} ${server.id}`;
    const way = this.#ways.get(name) ?? openWay();
    this.#ways.set(name, way);
    return way;
  }

  /** Ways are open again: what waited on connections arrives. */
  flush(): void {
    for (const connection of this.connections) {
      if (connection.over) this.connections.delete(connection);
      else connection.flush();
    }
  }

  freshId<K extends 'job' | 'node' | 'server'>(kind: K, random: Random) {
    const bytes = Uint8Array.from({ length: 9 }, () => random.below(256));
    return freshId(kind, this.nowMs, bytes);
  }

  async #populate(spec: WorldSpec): Promise<void> {
    const { direct } = this.backend;
    const ids = this.random.split('ids');
    for (const path of spec.projects) await direct.createProject(path, 'operator');
    const { version } = await direct.policy();
    await direct.setPolicy(spec.policy, version, 'operator');
    if (spec.batch) await this.#addBatch(spec.batch, this.random.split('batch'));
    for (let i = 0; i < spec.servers; i++) this.#addServer(spec, this.freshId('server', ids), i);
    for (const machine of spec.fleet) await this.#enrol(machine, this.freshId('node', ids));
    await this.scheduler.settle();
  }

  #addServer(spec: WorldSpec, id: ServerId, index: number): void {
    const weather = fairWeather();
    this.weather.set(id, weather);
    const random = this.random.split(`server-${index}`);
    const watched = spec.watched ?? ((_: ServerId, store: Store) => store);
    this.servers.push(
      new Server({
        scheduler: this.scheduler,
        id,
        random,
        rate: this.#rate(),
        batch: this.batch,
        openStore: (process) => watched(id, this.backend.open(process, weather, random.split('line'))),
        isDead: (info) => this.#isDead(info),
        log: (server, level, message) => this.#log(server, level, message),
        onBug: (error) => {
          this.bug ??= error;
        },
      }),
    );
  }

  /** Servers of even number share a machine, and so can tell that a process there is gone. */
  #isDead(info: ServerInfo): boolean {
    const index = this.servers.findIndex(({ id }) => id === info.id);
    const server = this.servers[index];
    return server !== undefined && index % 2 === 0 && (!server.process.alive || server.pid !== info.pid);
  }

  async #addBatch(
    { kind, nodes, inventory, fenced }: NonNullable<WorldSpec['batch']>,
    random: Random,
  ): Promise<void> {
    const { direct } = this.backend;
    await direct.addCluster(kind, { ...batchConfig, fencedCheckpoints: fenced }, 'operator');
    const listed = Array.from({ length: nodes }, (_, i) => {
      const name = `${kind}-${i}`;
      return { node: this.freshId('node', random), name, knownAs: name, closed: null };
    });
    // Nobody leads yet.
    const admitted = await direct.admitNodes(0, kind, listed);
    if (admitted.outcome !== 'committed') throw new Error(`the nodes of ${kind} were not admitted`);
    const { scheduler, ground, programs } = this;
    const ids = listed.map(({ node }) => node);
    const cluster = new BatchCluster({ scheduler, random, ground, programs, kind, nodes: ids });
    this.batch = { cluster, inventory };
  }

  async #enrolNode(name: string, cluster: string, node: NodeId): Promise<void> {
    const { direct } = this.backend;
    const expiresMs = (await direct.nowMs()) + 60_000;
    const token = { id: `enr-${name}`, hash: `hash-${name}`, cluster, pool: 'main', by: 'operator', uses: 1 };
    await direct.createEnrolment({ ...token, expiresMs });
    const enrolled = await direct.enrol({ hash: token.hash, node, name, publicKey });
    if (enrolled.outcome !== 'committed') throw new Error(`${name} was not enrolled`);
  }

  async #enrol({ name, cluster, inventory }: FleetMachine, node: NodeId): Promise<void> {
    await this.#enrolNode(name, cluster, node);
    this.machines.push(
      new Machine({
        scheduler: this.scheduler,
        ground: this.ground,
        programs: this.programs,
        node,
        name,
        cluster,
        inventory,
        rate: this.#rate(),
        sign: (text) => sign(null, Buffer.from(text), keys.privateKey).toString('base64'),
        dial: (machine, turn, dialled) => this.#dial(machine, turn, dialled),
      }),
    );
  }

  #dial(machine: Machine, turn: number, dialled: (connection: Connection | null) => void): void {
    const server = this.servers[turn % this.servers.length] as Server;
    const way = this.way(machine, server);
    this.scheduler.after(1 + this.#network.below(way.delayMs), () => {
      if (!way.toServer || !way.toAgent) {
        this.scheduler.after(dialTimeoutMs, () => dialled(null));
        return;
      }
      const { process, hub } = server;
      if (!process.alive || !hub) return dialled(null);
      const connection = new Connection(
        { scheduler: this.scheduler, random: this.#network, way },
        { process: machine.agentProcess, hostUp: () => machine.on },
        { process, hostUp: () => true },
      );
      this.connections.add(connection);
      dialled(connection);
      process.deliver(() => hub.accept(connection.serverSocket(), machine.deps.name));
    });
  }

  #log(server: ServerId, level: string, message: string): void {
    const at = ((this.nowMs % 10_000_000) / 1000).toFixed(3);
    this.logged.push(`${at} ${level} ${server.slice(-4)} ${message}`);
    if (this.logged.length > 200) this.logged.splice(0, 100);
  }
}
