// What every command is given: where to print and in which form, whom to talk to, and the wrapper that turns its answer
// into an exit code.
import { createClient, type MusterClient } from '@muster/client';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { exit } from './exit-codes.ts';
import { type Connection, resolveConnection } from './profile/connection.ts';
import { trust } from './profile/trust.ts';
import type { Terminal } from './terminal.ts';
import { type Paint, paintFor } from './text/style.ts';
import { type Column, table } from './text/table.ts';

export type Output = 'table' | 'wide' | 'json' | 'yaml';
export const outputs: readonly Output[] = ['table', 'wide', 'json', 'yaml'];

export interface Globals {
  readonly profile?: string;
  readonly server?: string;
  readonly tokenFile?: string;
  readonly output: Output;
  readonly color: boolean;
  readonly verbose: boolean;
}

export interface VersionInfo {
  readonly version: string;
  readonly commit: string;
  readonly schema: number | null;
}

// A command's own arguments are typed by its action; commander hands them over untyped.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Action = (...args: any[]) => Promise<number | undefined> | Promise<void>;

export class Cli {
  readonly terminal: Terminal;
  readonly version: VersionInfo;
  exitCode: number = exit.ok;
  globals: Globals = { output: 'table', color: true, verbose: false };
  #client: MusterClient | null = null;

  constructor(terminal: Terminal, version: VersionInfo) {
    this.terminal = terminal;
    this.version = version;
  }

  /** Wraps a command's action: what it returns is the exit code, nothing is 0. */
  act(action: Action): (...args: unknown[]) => Promise<void> {
    return async (...args) => {
      this.globals = readGlobals(args.at(-1) as Command);
      this.exitCode = (await action(...args)) ?? exit.ok;
    };
  }

  connection(): Connection {
    return resolveConnection(this.globals, this.terminal.env);
  }

  client(): MusterClient {
    if (this.#client) return this.#client;
    const { server, token, caFile } = this.connection();
    trust(server, caFile);
    this.#client = createClient({
      url: server,
      token,
      userAgent: `muster-cli/${this.version.version}`,
      onRetry: (error, waitMs) => this.detail(`${error.message}; trying again in ${Math.round(waitMs)} ms`),
    });
    return this.#client;
  }

  get nowMs(): number {
    return this.terminal.nowMs();
  }

  get paint(): Paint {
    return paintFor(this.terminal.stdout.isTTY ?? false, this.terminal.env, !this.globals.color);
  }

  get notePaint(): Paint {
    return paintFor(this.terminal.stderr.isTTY ?? false, this.terminal.env, !this.globals.color);
  }

  /** Columns of the terminal on stdout, or null where output goes elsewhere. */
  get width(): number | null {
    const { stdout, env } = this.terminal;
    if (!stdout.isTTY) return null;
    return stdout.columns || Number(env.COLUMNS) || 80;
  }

  line(text = ''): void {
    this.terminal.stdout.write(`${text}\n`);
  }

  /** Waits for a slow reader of stdout, so that a large output does not pile up in memory. */
  async drained(): Promise<void> {
    const { stdout } = this.terminal;
    if (stdout.writableNeedDrain && stdout.once)
      await new Promise<void>((resolve) => stdout.once?.('drain', resolve));
  }

  /** For the person, not for the next program: stderr. */
  note(text: string): void {
    this.terminal.stderr.write(`${text}\n`);
  }

  detail(text: string): void {
    if (this.globals.verbose) this.note(this.notePaint('dim', text));
  }

  /** The API's own objects for json and yaml, otherwise what `render` prints. */
  show(value: unknown, render: () => void): void {
    if (this.globals.output === 'json') this.line(JSON.stringify(value, null, 2));
    else if (this.globals.output === 'yaml')
      this.terminal.stdout.write(stringify(value, { aliasDuplicateObjects: false }));
    else render();
  }

  /** One object a line, for streams that other programs read. */
  showStreamed(value: unknown, render: () => void): void {
    if (this.globals.output === 'json') this.line(JSON.stringify(value));
    else if (this.globals.output === 'yaml')
      this.terminal.stdout.write(`---\n${stringify(value, { aliasDuplicateObjects: false })}`);
    else render();
  }

  table<T>(columns: readonly Column<T>[], rows: readonly T[]): void {
    for (const line of this.tableLines(columns, rows)) this.line(line);
  }

  tableLines<T>(columns: readonly Column<T>[], rows: readonly T[]): string[] {
    const wide = this.globals.output === 'wide';
    return table(columns, rows, { width: this.width, wide, head: (text) => this.paint('bold', text) });
  }
}

/** Global flags may stand before or after the command; the one nearest to the command wins. */
function readGlobals(command: Command): Globals {
  const merged: Record<string, unknown> = { output: 'table', color: true, verbose: false };
  const chain: Command[] = [];
  for (let at: Command | null = command; at; at = at.parent) chain.unshift(at);
  for (const at of chain)
    for (const name of ['profile', 'server', 'tokenFile', 'output', 'color', 'verbose'])
      if (at.getOptionValueSource(name) === 'cli') merged[name] = at.getOptionValue(name);
  return merged as unknown as Globals;
}
