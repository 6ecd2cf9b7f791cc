// The bar of a long replay: on a terminal only, rewritten in place, at most ten times a second.
import type { Cli } from '@muster/cli';

const everyMs = 100;
const width = 24;
const clearLine = '\r\x1b[K';

export class SimulateProgress {
  readonly #cli: Cli;
  readonly #live: boolean;
  #drawnMs = 0;
  #drawn = false;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#live = (cli.terminal.stderr.isTTY ?? false) && cli.terminal.env.TERM !== 'dumb';
  }

  show(what: string, part: number): void {
    const nowMs = this.#cli.nowMs;
    if (!this.#live || nowMs - this.#drawnMs < everyMs) return;
    this.#drawnMs = nowMs;
    this.#drawn = true;
    const full = Math.round(part * width);
    const bar = `${'━'.repeat(full)}${this.#cli.notePaint('dim', '━'.repeat(width - full))}`;
    this.#cli.terminal.stderr.write(
      `${clearLine}${bar} ${String(Math.floor(part * 100)).padStart(3)} %  ${what}`,
    );
  }

  clear(): void {
    if (this.#drawn) this.#cli.terminal.stderr.write(clearLine);
    this.#drawn = false;
  }
}
