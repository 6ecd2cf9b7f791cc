// muster events: what happened, in commit order.
import type { EventView } from '@muster/model';
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { usage } from '../failure.ts';
import { findJob } from '../find-job.ts';
import { clean } from '../text/clean.ts';
import { localTime } from '../text/time.ts';
import { truncate } from '../text/width.ts';

interface Flags {
  readonly follow?: boolean;
  readonly job?: string;
  readonly after?: string;
  readonly last?: string;
  readonly limit: string;
}

export function eventsCommand(cli: Cli): Command {
  return new Command('events')
    .summary('what happened, in order')
    .description('The event log, oldest first; with --follow from now on.')
    .option('-f, --follow', 'go on as things happen')
    .option('--job <job>', 'only of this job')
    .option('--after <cursor>', 'from here on: a cursor from an earlier answer, or 0 for the beginning')
    .option('--last <n>', 'from n events before the end on')
    .option('-n, --limit <n>', 'at most this many', '100')
    .action(cli.act((flags: Flags) => events(cli, flags)));
}

/** Where to begin, as the API takes it. */
function beginning({ after, last }: Flags): string | undefined {
  if (last === undefined) return after;
  if (after !== undefined) throw usage('--after and --last both say where to begin; give one');
  if (!/^[1-9]\d{0,8}$/.test(last)) throw usage(`--last wants a whole number from 1, got "${clean(last)}"`);
  return `-${last}`;
}

async function events(cli: Cli, flags: Flags): Promise<void> {
  const after = beginning(flags);
  const client = cli.client();
  const job = flags.job === undefined ? undefined : await findJob(client, flags.job);
  if (flags.follow) {
    const onReconnect = (error: Error): void => cli.detail(`${error.message}; trying again`);
    for await (const { event } of client.events.follow({ job, after }, { onReconnect }))
      cli.showStreamed(event, () => print(cli, event));
    return;
  }
  const limit = Number(flags.limit);
  if (!Number.isInteger(limit) || limit < 1)
    throw usage(`--limit wants a whole number from 1, got "${flags.limit}"`);
  const page = await client.events.list({ job, after, limit });
  cli.show(page, () => {
    for (const event of page.items) print(cli, event);
    if (page.next !== null) cli.note(cli.notePaint('dim', `more follow: --after ${page.next}`));
  });
}

function print(cli: Cli, event: EventView): void {
  const head = `${localTime(event.at, cli.nowMs).padEnd(8)}  ${event.kind.padEnd(15)} `;
  const text = clean(eventText(event));
  const room = cli.width === null || cli.globals.output === 'wide' ? null : cli.width - head.length - 1;
  cli.line(`${head} ${room === null ? text : truncate(text, Math.max(10, room))}`);
}

const hidden = new Set(['kind', 'run', 'job', 'version', 'epoch', 'demand', 'generation']);

/** The fields that name things first, then what is short enough to read. */
export function eventText({ body }: EventView): string {
  const subject = ['run', 'job', 'name', 'node', 'cluster', 'project']
    .map((key) => body[key])
    .find((v) => typeof v === 'string');
  const parts: string[] = subject === undefined ? [] : [String(subject)];
  for (const [key, value] of Object.entries(body)) {
    // Times stand at the front of the line; numbers of milliseconds tell a person nothing.
    if (hidden.has(key) || key.endsWith('Ms') || value === subject) continue;
    if (key === 'tasks' && Array.isArray(value))
      parts.push(`${value.length} task${value.length === 1 ? '' : 's'}`);
    else if (key === 'drain' && value) {
      const { by, reason } = value as { by?: unknown; reason?: unknown };
      parts.push(`by=${by}`, String(reason));
    } else if (key === 'result' || key === 'because' || key === 'reason' || key === 'exit')
      parts.push(resultText(key, value));
    else if (typeof value === 'string' || typeof value === 'number' || value === true)
      parts.push(`${key}=${value}`);
  }
  return parts.join('  ');
}

function resultText(key: string, value: unknown): string {
  const { outcome, reason, message } = (value ?? {}) as Record<string, unknown>;
  const said = (reason as { message?: unknown } | undefined)?.message ?? message;
  return [outcome ?? (key === 'reason' ? '' : key), said]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
}
