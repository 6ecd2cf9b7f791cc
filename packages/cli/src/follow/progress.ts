// One line that says what is being waited for. On a terminal it is rewritten in place with the time that has passed; elsewhere a plain
// line is printed each time the text changes, and only then.
import type { Cli } from '../cli.ts';
import { shortDuration } from '../text/time.ts';
import { truncate } from '../text/width.ts';

const redrawMs = 1000;
const clearLine = '\r\x1b[K';

export class Progress {
  readonly #cli: Cli;
  readonly #live: boolean;
  #text = '';
  #sinceMs = 0;
  #drawn = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#live = (cli.terminal.stderr.isTTY ?? false) && cli.terminal.env.TERM !== 'dumb';
  }

  /** `sinceMs` is when the wait began, for the clock on the line. */
  update(text: string, sinceMs: number): void {
    const changed = text !== this.#text;
    this.#text = text;
    this.#sinceMs = sinceMs;
    if (!this.#live) {
      if (changed) this.#cli.note(`-- ${text}`);
      return;
    }
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), redrawMs);
  }

  /** Takes the line away, so that something else can be printed. */
  clear(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    if (this.#drawn) this.#cli.terminal.stderr.write(clearLine);
    this.#drawn = false;
    this.#text = '';
  }

  #draw(): void {
    const { stderr } = this.#cli.terminal;
    const clock = shortDuration(this.#cli.nowMs - this.#sinceMs);
    const room = (stderr.columns || 80) - clock.length - 2;
    stderr.write(`${clearLine}${truncate(this.#text, room)} ${this.#cli.notePaint('dim', clock)}`);
    this.#drawn = true;
  }
}
