// The supervisor's side of the socket: one agent at a time, the newest. Events for which no agent is there are not kept:
// an agent learns the whole state when it connects.
import type { Socket } from 'node:net';
import { onLines, sendLine } from './lines.ts';
import {
  type FromSupervisor,
  type SupervisorConfig,
  supervisorVersion,
  type TaskKey,
  type ToSupervisor,
} from './protocol.ts';
import type { TaskEvents, Tasks } from './tasks.ts';

interface Watch {
  readonly id: number;
  readonly from: number;
}

export class AgentPort {
  readonly #config: SupervisorConfig;
  readonly #enforced: readonly string[];
  readonly #watches = new Map<TaskKey, Watch[]>();
  #agent: Socket | null = null;
  #tasks: Tasks | null = null;
  #leaving = false;
  #checkIdle: () => void = () => {};

  constructor(config: SupervisorConfig, enforced: readonly string[]) {
    this.#config = config;
    this.#enforced = enforced;
  }

  readonly events: Omit<TaskEvents, 'poke'> = {
    accepted: (run, rank) => this.#send({ t: 'accepted', run, rank }),
    started: (run, rank, pid) => this.#send({ t: 'started', run, rank, pid }),
    ended: (run, rank, exit) => {
      this.#send({ t: 'ended', run, rank, exit });
      this.#checkIdle();
    },
    changed: (key) => this.#changed(key),
  };

  adopt(socket: Socket, tasks: Tasks): void {
    this.#agent?.destroy();
    this.#agent = socket;
    this.#tasks = tasks;
    this.#watches.clear();
    this.#leaving = false;
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#agent !== socket) return;
      this.#agent = null;
      this.#watches.clear();
      this.#checkIdle();
    });
    onLines<ToSupervisor>(socket, (message) => this.#handle(message, tasks));
    const { code } = this.#config;
    const state = { version: supervisorVersion, code, pid: process.pid, enforced: this.#enforced };
    this.#send({ t: 'state', ...state, tasks: tasks.list() });
  }

  /** Calls `exit` once there has been no agent and no live task for a while; at once when the agent left on purpose. */
  onIdle(tasks: Tasks, exit: () => void): void {
    let timer: NodeJS.Timeout | null = null;
    this.#checkIdle = () => {
      if (timer) clearTimeout(timer);
      timer = null;
      if (this.#agent || tasks.busy) return;
      timer = setTimeout(
        () => {
          if (!this.#agent && !tasks.busy) exit();
        },
        this.#leaving ? 0 : this.#config.lingerMs,
      );
    };
    this.#checkIdle();
  }

  #handle(message: ToSupervisor, tasks: Tasks): void {
    switch (message.t) {
      case 'prepare':
        this.#answer(message.id, tasks.prepare(message.tasks));
        return;
      case 'stop':
        this.#answer(message.id, tasks.stop(message.run, message.stop));
        return;
      case 'renew':
        for (const { run, ...lease } of message.runs) tasks.renew(run, lease);
        return;
      case 'ack':
        tasks.acknowledge(message.keys);
        return;
      case 'look':
        this.#look(message, tasks);
        return;
      case 'unlook':
        for (const [key, watches] of this.#watches)
          this.#watches.set(
            key,
            watches.filter(({ id }) => id !== message.id),
          );
        return;
      case 'leave':
        this.#leaving = true;
        this.#agent?.end();
    }
  }

  #answer(id: number, done: Promise<void>): void {
    done.then(
      () => this.#send({ t: 'answer', id, error: null }),
      (error: Error) => this.#send({ t: 'answer', id, error: error.message }),
    );
  }

  #look({ id, key, from, wait }: Extract<ToSupervisor, { t: 'look' }>, tasks: Tasks): void {
    const now = tasks.look(key);
    if (!wait || !now.live || now.size > from) {
      this.#send({ t: 'looked', id, ...now });
      return;
    }
    this.#watches.set(key, [...(this.#watches.get(key) ?? []), { id, from }]);
  }

  #changed(key: TaskKey): void {
    const watches = this.#watches.get(key);
    const now = watches && this.#tasks?.look(key);
    if (!watches || !now) return;
    const waiting = watches.filter(({ id, from }) => {
      if (now.live && now.size <= from) return true;
      this.#send({ t: 'looked', id, ...now });
      return false;
    });
    if (waiting.length > 0) this.#watches.set(key, waiting);
    else this.#watches.delete(key);
  }

  #send(message: FromSupervisor): void {
    if (this.#agent) sendLine(this.#agent, message);
  }
}
