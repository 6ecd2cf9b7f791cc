// From the outbox to the clusters. The server that holds a node's connection delivers that node's rows: "attempted" is
// committed before the first call, the row is closed on the agent's word, and a row whose answer never came stays open and
// is handed out again in the node's next session. The agent starts a key at most once, so sending twice is harmless.
import type { Driver } from '@muster/drivers';
import type { NodeSession, OutboxCommand, Store } from '@muster/store';
import { type Loop, startLoop } from './loop.ts';
import type { World } from './world.ts';

export interface DispatchDeps {
  readonly world: World;
  readonly store: Pick<Store, 'takeOutbox' | 'closeOutbox' | 'onEvents'>;
  readonly driver: Driver & { sessions(): readonly NodeSession[] };
  readonly onBug: (error: unknown) => void;
}

export interface Dispatch {
  /** Something may be deliverable: a plan was committed, a node connected. */
  wake(): void;
  stop(): Promise<void>;
}

const rowsAtOnce = 1000;
const sweepMs = 2000;

export function startDispatch({ world, store, driver, onBug }: DispatchDeps): Dispatch {
  async function step(): Promise<number> {
    const sessions = driver.sessions();
    if (sessions.length === 0) return sweepMs;
    const commands = await store.takeOutbox(sessions, rowsAtOnce);
    for (const command of commands) {
      // Not awaited: a slow node must not hold up the others.
      void deliver(command);
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
    try {
      await store.closeOutbox([{ id: row.id, outcome: answer.outcome, detail }]);
    } catch (error) {
      // The row stays open and is handed out again; the agent will answer the same.
      world.log.warn({ outbox: row.id, error: String(error) }, 'could not close an outbox row');
    }
    if (answer.outcome === 'stale-epoch') loop.wake();
  }

  const loop: Loop = startLoop(world, { name: 'dispatch', step, onBug });
  const endHints = store.onEvents(() => loop.wake());
  return {
    wake: () => loop.wake(),
    async stop() {
      endHints();
      await loop.stop();
    },
  };
}
