// A server of a virtual world: the production loops of packages/control on a virtual clock, with the cycle inline. It boots,
// is paused, is killed and boots again, with no more memory than a process has.
import {
  type Brain,
  byNode,
  clusterHealth,
  createAgentSink,
  type Dispatch,
  defaultRetention,
  type Leader,
  startBrain,
  startCluster,
  startDispatch,
  startExpire,
  startLeader,
  startRetention,
  type World,
} from '@muster/control';
import { type AgentHub, createAgentHub } from '@muster/drivers/agent';
import { loadEngine } from '@muster/engine';
import { type Inventory, OperationalError, type ServerId } from '@muster/model';
import type { ServerInfo, Store } from '@muster/store';
import type { Random } from '../random.ts';
import { batchClusterDriver } from './batch-adapter.ts';
import type { BatchCluster } from './batch-cluster.ts';
import { VirtualProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

export interface ServerDeps {
  readonly scheduler: Scheduler;
  readonly id: ServerId;
  readonly random: Random;
  /** How fast its machine's clock goes. */
  readonly rate: number;
  /** A store on a connection of this process. */
  readonly openStore: (process: VirtualProcess) => Store;
  /** A batch system beside the machines, for whose nodes the leader speaks; null when there is none. */
  readonly batch: { readonly cluster: BatchCluster; readonly inventory: Inventory } | null;
  /** True only when that process is known to be gone. */
  readonly isDead: (server: ServerInfo) => boolean;
  readonly log: (server: ServerId, level: string, message: string) => void;
  readonly onBug: (error: unknown) => void;
}

const bootAgainMs = 1000;

export class Server {
  readonly deps: ServerDeps;
  process: VirtualProcess;
  store: Store | null = null;
  hub: AgentHub | null = null;
  brain: Brain | null = null;
  #leader: Leader | null = null;
  #starts = 0;

  constructor(deps: ServerDeps) {
    this.deps = deps;
    this.process = new VirtualProcess(deps.scheduler, deps.rate);
    this.process.kill();
  }

  get id(): ServerId {
    return this.deps.id;
  }

  get pid(): number {
    return this.#starts;
  }

  get leading(): boolean {
    return this.process.alive && this.#leader !== null && this.#leader.epoch !== null;
  }

  boot(): void {
    if (this.process.alive) return;
    const process = new VirtualProcess(this.deps.scheduler, this.deps.rate);
    this.process = process;
    this.#starts++;
    const store = this.deps.openStore(process);
    this.store = store;
    this.#start(process, store).catch((error: unknown) => {
      // The database is away: the process ends, and its keeper starts it again.
      if (!(error instanceof OperationalError)) return this.deps.onBug(error);
      this.kill();
      this.deps.scheduler.after(bootAgainMs, () => this.boot());
    });
  }

  kill(): void {
    this.process.kill();
    this.store = null;
    this.hub = null;
    this.brain = null;
    this.#leader = null;
  }

  async #start(process: VirtualProcess, store: Store): Promise<void> {
    const { id: server, random, isDead, onBug } = this.deps;
    const { clock, timers } = process;
    const log = this.#log();
    const world: World = { clock, timers, random: random.unit, log };
    const brain = await startBrain({ world, store, load: loadEngine, onBug });
    let dispatch: Dispatch | null = null;
    const sink = createAgentSink({ world, store, server, onReady: () => dispatch?.wake() });
    const hub = createAgentHub({ server, sink, log, timers });
    const pid = this.#starts;
    const leader = startLeader({
      world,
      store,
      server: () => ({ id: server, url: `sim://${server}`, bootId: 'sim', pid, pidStart: String(pid) }),
      isDead,
      onChange: (epoch) => brain.lead(epoch),
      onBug,
    });
    const epoch = () => leader.epoch;
    const { batch } = this.deps;
    const kind = batch?.cluster.deps.kind ?? '';
    const onReady = (): void => dispatch?.wake();
    const clusters = batch
      ? [
          startCluster({
            world,
            store,
            server,
            process: `batch-${pid}`,
            driver: batchClusterDriver(batch.cluster, batch.inventory, process, kind === 'kubernetes'),
            epoch,
            onReady,
            onLook: clusterHealth({ world, store, name: kind, epoch }),
            onBug,
          }),
        ]
      : [];
    dispatch = startDispatch({ world, store, driver: byNode(hub, () => clusters), onBug });
    startExpire({ world, store, epoch, onBug });
    startRetention({ world, store, epoch, retention: defaultRetention, onBug });
    this.hub = hub;
    this.brain = brain;
    this.#leader = leader;
  }

  #log(): World['log'] {
    const at = (level: string) => (_: object, message: string) => this.deps.log(this.deps.id, level, message);
    return { debug: () => {}, info: at('info'), warn: at('warn'), error: at('error') };
  }
}
