// From the outbox to the clusters. The server that holds a node's connection delivers that node's rows: "attempted" is
// committed before the first call, the row is closed on the agent's word, and a row whose answer never came stays open and
// is handed out again in the node's next session. The agent starts a key at most once, so sending twice is harmless.
import type { Driver } from '@muster/drivers';
import { OperationalError } from '@muster/model';
import type { DispatchSession, OutboxCommand, OutboxDone, Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

/** What commands are delivered through: the hub of the agents, or with clusters beside it (by-node.ts). */
export interface DispatchDriver extends Pick<Driver, 'submit' | 'stop'> {
  sessions(): readonly DispatchSession[];
}

export interface DispatchDeps {
  readonly world: World;
  readonly store: Pick<Store, 'takeOutbox' | 'closeOutbox' | 'onEvents'>;
  readonly driver: DispatchDriver;
  readonly onBug: (error: unknown) => void;
}

export interface Dispatch {
  /** Something may be deliverable: a plan was committed, a node connected. */
  wake(): void;
  trouble(): string | null;
  stop(): Promise<void>;
}

const rowsAtOnce = 1000;
const sweepMs = 2000;
const closeAgainMs = 500;

export function startDispatch({ world, store, driver, onBug }: DispatchDeps): Dispatch {
  let stopped = false;

  async function step(): Promise<number> {
    const sessions = driver.sessions();
    if (sessions.length === 0) return sweepMs;
    const commands = await store.takeOutbox(sessions, rowsAtOnce);
    const connected = new Map(driver.sessions().map(({ node, session }) => [node, session]));
    for (const command of commands) {
      // The node connected anew while we took the row: its new session is handed the row too, and answers for it.
      if (connected.get(command.node) !== command.session) continue;
      // Not awaited: a slow node must not hold up the others.
      deliver(command).catch(onBug);
    }
    return commands.length === rowsAtOnce ? 0 : sweepMs;
  }

  async function deliver(row: OutboxCommand): Promise<void> {
    const target = { outbox: row.id, epoch: row.epoch, node: row.node };
    const answer = await (row.kind === 'start'
      ? driver.submit(target, row.command)
      : driver.stop(target, row.command));
    if (answer.outcome === 'unknown') return;
    const detail = answer.outcome === 'refused' ? answer.detail : null;
    const done: OutboxDone = { id: row.id, session: row.session, outcome: answer.outcome, detail };
    // A row is handed out once a session: an answer given up here would leave the row, and a run that was refused, for as
    // long as the node stays connected. A newer session is handed the row again and has an answer of its own.
    while (!(await closed(done)) && !stopped && sessionOf(row.node) === row.session)
      await pause(closeAgainMs);
    if (answer.outcome !== 'stale-epoch') return;
    // Not at once: an agent that knows a higher epoch than this database (an old backup, say) will say the same again.
    await pause(closeAgainMs);
    loop.wake();
  }

  /** False when the world failed and asking again may help. */
  async function closed(done: OutboxDone): Promise<boolean> {
    try {
      await store.closeOutbox([done]);
      return true;
    } catch (error) {
      if (!(error instanceof OperationalError)) throw error;
      world.log.warn(
        { outbox: done.id, code: error.code },
        `could not close an outbox row: ${error.message}`,
      );
      return error.code !== 'unavailable' && error.code !== 'outcome-unknown';
    }
  }

  function sessionOf(node: DispatchSession['node']): string | undefined {
    return driver.sessions().find((session) => session.node === node)?.session;
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      world.timers.after(ms, resolve);
    });
  }

  const loop: Loop = startLoop(world, { name: 'dispatch', step, onBug });
  const endHints = store.onEvents(() => loop.wake());
  return {
    wake: () => loop.wake(),
    trouble: () => loop.trouble(),
    async stop() {
      stopped = true;
      endHints();
      await loop.stop();
    },
  };
}
