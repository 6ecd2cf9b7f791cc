// What an agent does when it hears that its node was removed. The server has given the node's runs up and may start them
// elsewhere, and nobody else is left to stop what still runs here: a task that may live without a server for ever would
// do so. So they are stopped, with their own signal and grace, before the agent ends.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from './options.ts';
import { type StopRequest, taskKey } from './supervisor/protocol.ts';
import type { SupervisorLink } from './supervisor-link.ts';
import type { TaskBook } from './task-book.ts';

const removedStop: StopRequest = {
  class: 'infrastructure',
  reason: { code: 'node-removed', message: 'stopped, because an operator removed the node' },
  how: null,
};

const lookEveryMs = 20;

export interface RemovalDeps {
  readonly link: SupervisorLink;
  readonly book: TaskBook;
  readonly log: Logger;
  /** The agent itself is told to stop: the supervisor goes on stopping the tasks. */
  readonly signal: AbortSignal;
}

export async function stopAll({ link, book, log, signal }: RemovalDeps): Promise<void> {
  const runs = book.liveRuns();
  if (runs.length > 0) {
    log.warn({ runs }, `stopping what still runs here, because the node was removed: ${runs.join(', ')}`);
    for (const run of runs) void link.stop(run, removedStop);
    while (book.liveRuns().length > 0 && !signal.aborted) await pause(lookEveryMs);
  }
  // Nobody takes their ends, and the next node of this machine must not tell of them.
  const ended = book.reports().filter(({ state }) => state === 'ended');
  link.acknowledge(ended.map(({ run, rank }) => taskKey(run, rank)));
}
