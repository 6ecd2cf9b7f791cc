// The agent: adopts or starts the supervisor, then stays connected to a server, for ever, until told to stop, or told that
// its node was removed. Losing the server, the supervisor or this process itself all lead back here: look at what there is,
// tell it, go on.
import { setTimeout as pause } from 'node:timers/promises';
import type { SecureContext } from 'node:tls';
import { protocolVersion, type ServerMessage } from '@muster/model';
import { makeCheckpointFolder } from './checkpoint-folder.ts';
import { CheckpointWatch } from './checkpoint-watch.ts';
import { Connection } from './connection.ts';
import { type Discovered, discover } from './discover/inventory.ts';
import { Slots } from './discover/slots.ts';
import { serverUrl } from './enrol.ts';
import { keepHouse } from './housekeeping.ts';
import { type Identity, readIdentity, signHello } from './identity.ts';
import { type AgentOptions, defaultKeepOutput } from './options.ts';
import { stopAll } from './removal.ts';
import { Reports } from './reports.ts';
import { removeOld } from './retention.ts';
import { Session, type SessionDeps } from './session.ts';
import { Epoch, lockStateDir, openScratchRoot, openStateDir, type StateDir } from './state-dir.ts';
import { bootId } from './supervisor/clock.ts';
import { SupervisorLink, type SupervisorState } from './supervisor-link.ts';
import { TaskBook } from './task-book.ts';
import { type Specs, taskSpecs } from './task-spec.ts';
import { localUsers } from './task-user.ts';
import { readCaFile, trust } from './trust.ts';
import { agentVersion } from './version.ts';

export interface AgentHandle {
  /** Leaves: tasks go on, kept by the supervisor. */
  stop(): Promise<void>;
  /** Looks at the inventory again. */
  recheck(): Promise<void>;
  /** Settles when the agent has ended. */
  readonly done: Promise<AgentEnd>;
}

/** removed: an operator has taken the node out of the fleet; whoever goes on trying is refused for ever. */
export type AgentEnd = 'stopped' | 'removed';

const failedLooksMax = 3;
const firstBackoffMs = 200;
const longestBackoffMs = 5000;
const lingerMs = 30_000;
const welcomeWithinMs = 15_000;

export async function runAgent(options: AgentOptions): Promise<AgentHandle> {
  const dir = openStateDir(options.dir);
  const identity = readIdentity(dir);
  // Said now, not at the first attempt to connect.
  for (const server of serversOf(options)) serverUrl(server, '/');
  if (options.caFile !== undefined) readCaFile(options.caFile);
  const unlock = lockStateDir(dir);
  try {
    const agent = new Agent(options, dir, identity);
    await agent.start();
    const done = agent.run().finally(unlock);
    return {
      done,
      recheck: () => agent.recheck(),
      stop: async () => {
        agent.stop();
        await done;
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

const serversOf = (options: AgentOptions): readonly string[] => [
  options.server,
  ...(options.otherServers ?? []),
];

class Agent {
  readonly #options: AgentOptions;
  readonly #dir: StateDir;
  readonly #identity: Identity;
  readonly #scratchRoot: string;
  readonly #isRoot = process.getuid?.() === 0;
  readonly #link: SupervisorLink;
  readonly #book: TaskBook;
  readonly #reports: Reports;
  readonly #checkpoints: CheckpointWatch;
  readonly #epoch: Epoch;
  readonly #slots: Slots;
  readonly #userOf;
  readonly #stopping = new AbortController();
  #found: Discovered | null = null;
  #failedLooks = 0;
  #connection: Connection | null = null;
  #backoffMs = firstBackoffMs;
  #lastTrouble: string | null = null;
  #removed = false;
  /** Counts connections: each goes to the next server of the list. */
  #turn = 0;

  constructor(options: AgentOptions, dir: StateDir, identity: Identity) {
    this.#options = options;
    this.#dir = dir;
    this.#identity = identity;
    this.#scratchRoot = openScratchRoot(options.dir, identity.node);
    this.#epoch = new Epoch(dir);
    this.#slots = new Slots(dir);
    this.#userOf = localUsers(options.userMap ?? {}, options.taskUser);
    this.#reports = new Reports((items) => {
      const keys = this.#book.acknowledged(items);
      if (keys.length > 0) this.#link.acknowledge(keys);
    });
    this.#book = new TaskBook((item) => this.#reports.add(item));
    this.#checkpoints = new CheckpointWatch({
      running: () => this.#book.running(),
      scratchRoot: this.#scratchRoot,
      report: (item) => this.#reports.add(item),
    });
    const config = {
      dir: dir.private,
      node: identity.node,
      code: agentVersion,
      cgroups: options.cgroups ?? true,
      lingerMs,
    };
    this.#link = new SupervisorLink(config, options.log, {
      state: (state) => this.#adopted(state),
      news: (news) => this.#book.news(news),
    });
  }

  async start(): Promise<void> {
    if (this.#isRoot && !this.#options.userMap) await this.#userOf('');
    // Before looking at the devices: what tasks hold decides which of them may change places.
    await this.#link.open();
    this.#found = this.#arrange(await discover(this.#options, this.#identity.node));
    if (this.#found.trouble) this.#options.log.warn({}, `nvidia-smi failed: ${this.#found.trouble}`);
  }

  #arrange(found: Discovered): Discovered {
    const devices = this.#slots.arrange(found.inventory.devices, this.#book.liveRuns().length > 0);
    return { ...found, inventory: { ...found.inventory, devices } };
  }

  async run(): Promise<AgentEnd> {
    const chores = { recheck: () => this.recheck(), removeOld: () => this.#removeOld() };
    const rest = keepHouse(chores, this.#options.log);
    try {
      while (!this.#stopping.signal.aborted) {
        await this.#connectOnce();
        if (this.#removed) {
          const { log } = this.#options;
          log.error({}, `an operator removed node ${this.#identity.name}`);
          await stopAll({ link: this.#link, book: this.#book, log, signal: this.#stopping.signal });
          return 'removed';
        }
        if (this.#stopping.signal.aborted) break;
        await this.#backOff();
      }
      return 'stopped';
    } finally {
      rest();
      this.#checkpoints.stop();
      this.#link.close();
    }
  }

  stop(): void {
    this.#stopping.abort();
    this.#connection?.send({ type: 'bye', reason: 'the agent was told to stop' });
    this.#connection?.end('stopped');
  }

  async recheck(): Promise<void> {
    const before = JSON.stringify(this.#found?.inventory);
    const found = await discover(this.#options, this.#identity.node);
    if (this.#isPassing(found.trouble)) return;
    this.#found = this.#arrange(found);
    if (JSON.stringify(this.#found.inventory) === before) return;
    this.#options.log.info({}, 'the inventory has changed; connecting again to tell it');
    this.#backoffMs = 0;
    this.#connection?.end('the inventory has changed');
  }

  /** A busy machine's tool fails now and then; a broken driver's fails again and again. */
  #isPassing(trouble: string | null): boolean {
    this.#failedLooks = trouble === null ? 0 : this.#failedLooks + 1;
    if (trouble === null || this.#failedLooks > failedLooksMax) return false;
    const gone = this.#failedLooks === failedLooksMax;
    const devices = gone ? 'its devices are taken from the inventory' : 'what it found before still counts';
    const times = `${this.#failedLooks} of ${failedLooksMax} times in a row`;
    this.#options.log.warn({}, `nvidia-smi failed, ${times}: ${trouble}; ${devices}`);
    return !gone;
  }

  #adopted(state: SupervisorState): void {
    const { log } = this.#options;
    const live = state.tasks.filter((task) => task.state !== 'ended').length;
    const enforced = state.enforced.length > 0 ? state.enforced.join(', ') : 'nothing';
    const users = this.#isolationText();
    log.info({ supervisor: state.pid, tasks: live }, `control groups enforce ${enforced}; ${users}`);
    this.#book.replace(state.tasks);
  }

  #server(): string {
    const servers = serversOf(this.#options);
    return servers[this.#turn % servers.length] as string;
  }

  /** Only a map of submitters to local users keeps them apart; without one they share an account. */
  #separatesUsers(): boolean {
    return this.#isRoot && Object.keys(this.#options.userMap ?? {}).length > 0;
  }

  #isolationText(): string {
    if (!this.#isRoot)
      return 'no isolation between users: the agent is not root, so every task runs as its user';
    if (this.#separatesUsers()) return 'tasks run as mapped local users';
    const user = this.#options.taskUser ?? 'nobody';
    return `tasks run as ${user}, apart from the agent but not from each other: map submitters with --user-map`;
  }

  /** Resolves, with the reason, when the connection is over. */
  #connectOnce(): Promise<string> {
    const url = serverUrl(this.#server(), '/v1/agents/connect', true);
    let secureContext: SecureContext | undefined;
    try {
      if (url.protocol === 'wss:') secureContext = trust(this.#options.caFile);
    } catch (error) {
      // It was readable when we started: somebody is replacing it.
      this.#tellTrouble((error as Error).message);
      return Promise.resolve((error as Error).message);
    }
    return new Promise((resolve) => {
      let session: Session | null = null;
      const connection = new Connection(url, secureContext, {
        message: (message) => {
          if (session) return session.handle(message);
          session = this.#greet(connection, message);
          if (session) clearTimeout(patience);
        },
        closed: (why) => {
          clearTimeout(patience);
          session?.end();
          this.#connection = null;
          this.#tellTrouble(why);
          this.#turn++;
          resolve(why);
        },
      });
      this.#connection = connection;
      // Beats notice a server that falls silent later; one that hangs before its welcome would hold us for ever.
      const patience = setTimeout(
        () => connection.end('no welcome came in time'),
        this.#options.welcomeWithinMs ?? welcomeWithinMs,
      );
    });
  }

  #greet(connection: Connection, message: ServerMessage): Session | null {
    switch (message.type) {
      case 'challenge':
        void this.#hello(connection, message.nonce);
        return null;
      case 'welcome':
        this.#options.log.info(
          { epoch: message.epoch },
          `connected to ${this.#server()} as ${message.nodeName}`,
        );
        this.#backoffMs = firstBackoffMs;
        this.#lastTrouble = null;
        return new Session(this.#sessionDeps(), connection, message);
      case 'refused':
        this.#removed = message.code === 'removed';
        connection.end(`refused: ${message.message}`);
        return null;
      default:
        connection.end(`${message.type} before welcome`);
        return null;
    }
  }

  async #hello(connection: Connection, nonce: string): Promise<void> {
    await this.#book.settled(1000);
    const { inventory } = this.#found as Discovered;
    connection.send({
      type: 'hello',
      protocol: protocolVersion,
      node: this.#identity.node,
      signature: signHello(this.#identity, nonce),
      bootId: bootId(),
      agentVersion,
      isolation: this.#separatesUsers(),
      inventory,
      epoch: this.#epoch.highest,
      tasks: this.#book.reports(),
    });
  }

  #sessionDeps(): SessionDeps {
    return {
      log: this.#options.log,
      epoch: this.#epoch,
      link: this.#link,
      book: this.#book,
      reports: this.#reports,
      outputDir: this.#dir.output,
      checkpoints: this.#checkpoints,
      specs: (command) => this.#specs(command),
    };
  }

  async #specs(command: Parameters<SessionDeps['specs']>[0]): Promise<Specs> {
    const { inventory, realUuids } = this.#found as Discovered;
    try {
      const user = await this.#userOf(command.user);
      const { checkpoints: root } = this.#options;
      const world = {
        checkpoints: root === undefined ? null : await makeCheckpointFolder(root, command.run, user),
        devices: inventory.devices,
        realUuids,
        scratchRoot: this.#scratchRoot,
        user,
        serverUrl: this.#server(),
        agentEnv: process.env,
      };
      return taskSpecs(command, world);
    } catch (error) {
      return { ok: false, message: (error as Error).message };
    }
  }

  /** Once for each reason, not for every attempt. */
  #tellTrouble(why: string): void {
    const { aborted } = this.#stopping.signal;
    if (aborted || this.#removed || why === this.#lastTrouble || this.#backoffMs === 0) return;
    this.#lastTrouble = why;
    this.#options.log.warn(
      {},
      `not connected to ${this.#server()}: ${why}; tasks go on, trying again until it works`,
    );
  }

  async #backOff(): Promise<void> {
    const waitMs = this.#backoffMs * (0.5 + Math.random());
    this.#backoffMs = Math.min(longestBackoffMs, Math.max(firstBackoffMs, this.#backoffMs * 2));
    await pause(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }

  async #removeOld(): Promise<void> {
    const dirs = { output: this.#dir.output, scratch: this.#scratchRoot };
    const keep = this.#options.keepOutput ?? defaultKeepOutput;
    await removeOld(dirs, keep, (key) => this.#book.isLive(key), Date.now());
  }
}
