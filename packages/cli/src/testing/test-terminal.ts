// A terminal in memory, for tests that run whole commands in process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runCli } from '../run-cli.ts';
import { Interrupts, type OutStream, type Terminal } from '../terminal.ts';

export interface TestOptions {
  readonly tty?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly nowMs?: number;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

class Sink implements OutStream {
  text = '';
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly rows: number | undefined;

  constructor(tty: boolean, columns?: number, rows?: number) {
    this.isTTY = tty;
    this.columns = columns;
    this.rows = rows;
  }

  write(data: string | Uint8Array): boolean {
    this.text += typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
    return true;
  }
}

/** A user with a home folder of its own. */
export class TestUser {
  readonly home = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  readonly config = join(this.home, 'muster', 'config.yaml');
  #interrupts = new Interrupts(() => undefined);
  stdout = new Sink(false);
  stderr = new Sink(false);

  /** Ctrl-C, to whatever listens now. */
  interrupt(): void {
    this.#interrupts.interrupt();
  }

  async run(args: readonly string[], options: TestOptions = {}): Promise<Ran> {
    const { tty = false, columns, rows, env = {}, stdin = '', nowMs } = options;
    this.#interrupts = new Interrupts(() => undefined);
    this.stdout = new Sink(tty, columns, rows);
    this.stderr = new Sink(tty, columns, rows);
    const terminal: Terminal = {
      stdin: Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY: false }),
      stdout: this.stdout,
      stderr: this.stderr,
      env: { HOME: this.home, XDG_CONFIG_HOME: this.home, ...env },
      cwd: '/work',
      nowMs: () => nowMs ?? Date.now(),
      onInterrupt: (listener) => this.#interrupts.on(listener),
    };
    const version = { version: '1.2.3', commit: 'abc', schema: 4 };
    const code = await runCli(args, terminal, { version });
    return { code, stdout: this.stdout.text, stderr: this.stderr.text };
  }

  forget(): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}
