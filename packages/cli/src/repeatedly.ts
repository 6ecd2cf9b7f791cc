// --watch: the same view again when the event log moves, and at least every few seconds for what has no event. On a
// terminal the screen is redrawn in place; elsewhere each view is printed below the last, and only when it changed.
import { doorbell, type MusterClient, MusterError, sleep } from '@muster/client';
import type { Cli } from './cli.ts';
import { exit } from './exit-codes.ts';
import { clean } from './text/clean.ts';

/** Lines for people, or a value for programs. */
export type View = string[] | { readonly value: unknown };

const lookEveryMs = 2000;
const quietLookMs = 30_000;
const settleMs = 100;
const home = '\x1b[H';
const clearToEnd = '\x1b[J';
const clearScreen = '\x1b[2J';
const clearRestOfLine = '\x1b[K';

export async function repeatedly(
  cli: Cli,
  client: MusterClient,
  watch: boolean,
  look: () => Promise<View>,
): Promise<number | undefined> {
  if (!watch) {
    print(cli, await look(), false);
    return;
  }
  const stop = new AbortController();
  const off = cli.terminal.onInterrupt(() => stop.abort());
  const bell = doorbell();
  void listen(client, bell.ring, stop.signal);
  // Relative times change all the time; only a terminal is redrawn for them.
  const everyMs = cli.terminal.stdout.isTTY ? lookEveryMs : quietLookMs;
  let last = '';
  try {
    while (!stop.signal.aborted) {
      const view = await lookAgain(cli, look, last === '');
      if (view === null) {
        await sleep(everyMs, stop.signal).catch(() => undefined);
        continue;
      }
      const text = JSON.stringify(view);
      if (text !== last) print(cli, view, true, last === '');
      last = text;
      await Promise.race([bell.rung(), sleep(everyMs, stop.signal)]).catch(() => undefined);
      await sleep(settleMs, stop.signal).catch(() => undefined);
    }
    return exit.interrupted;
  } finally {
    off();
    stop.abort();
  }
}

/** A server that restarts ends no watch: null, and the next look may work. The first look fails as without --watch. */
async function lookAgain(cli: Cli, look: () => Promise<View>, first: boolean): Promise<View | null> {
  try {
    return await look();
  } catch (error) {
    const passing =
      error instanceof MusterError && ['unreachable', 'no-answer', 'unavailable'].includes(error.code);
    if (first || !passing) throw error;
    cli.note(`muster: ${clean(error.message)}; trying again until it works`);
    return null;
  }
}

async function listen(client: MusterClient, ring: () => void, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of client.events.follow({}, { signal, onOpen: ring })) ring();
  } catch {
    // Without the stream the slow look is enough.
  }
}

function print(cli: Cli, view: View, watched: boolean, first = true): void {
  if (!Array.isArray(view)) {
    if (watched) cli.showStreamed(view.value, () => undefined);
    else cli.show(view.value, () => undefined);
    return;
  }
  const { stdout } = cli.terminal;
  if (!watched || !stdout.isTTY) {
    for (const line of view) cli.line(line);
    return;
  }
  // A terminal that does not know its size says 0.
  const room = Math.max(2, (stdout.rows || 24) - 1);
  const shown = view.length > room ? [...view.slice(0, room - 1), `… ${view.length - room + 1} more`] : view;
  const body = shown.map((line) => `${line}${clearRestOfLine}\n`).join('');
  stdout.write(`${first ? clearScreen : ''}${home}${body}${clearToEnd}`);
}
