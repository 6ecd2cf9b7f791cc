// Prints what tasks write. One task: its bytes as they come. Several: whole lines, each with its rank in front, so that no
// line of one is cut by another. To a terminal only harmless sequences pass (text/output-filter.ts); a file or pipe gets
// the bytes as they are.
import type { Cli } from '../cli.ts';
import { OutputFilter } from '../text/output-filter.ts';
import type { Style } from '../text/style.ts';

const newline = 0x0a;
/** A line without an end is printed in pieces of this size, so that memory stays bounded. */
const maxLineBytes = 64 * 1024;
const rankStyles: readonly Style[] = ['cyan', 'yellow', 'green', 'magenta', 'blue', 'red'];

export class TaskOutput {
  readonly #cli: Cli;
  readonly #prefix: string;
  readonly #filter: OutputFilter | null;
  #line: Buffer = Buffer.alloc(0);
  #endsInNewline = true;

  /** `ranks` is how many tasks print together; one alone has no prefix. */
  constructor(cli: Cli, rank: number, ranks: number) {
    this.#cli = cli;
    this.#filter = cli.terminal.stdout.isTTY ? new OutputFilter() : null;
    const name = String(rank).padStart(String(ranks - 1).length);
    const style = rankStyles[rank % rankStyles.length] ?? 'cyan';
    this.#prefix = ranks > 1 ? `${cli.paint(style, `[${name}]`)} ` : '';
  }

  write(data: Uint8Array): void {
    this.#emit(this.#filter ? Buffer.from(this.#filter.push(data)) : Buffer.from(data));
  }

  /** Prints what is left of an unfinished line. */
  end(): void {
    if (this.#filter) this.#emit(Buffer.from(this.#filter.end()));
    if (this.#line.length > 0) this.#print(this.#line, true);
    this.#line = Buffer.alloc(0);
    // The shell's prompt, or our next line, should not stand behind half a line.
    if (!this.#endsInNewline && this.#cli.terminal.stdout.isTTY) this.#cli.terminal.stdout.write('\n');
    this.#endsInNewline = true;
  }

  #emit(data: Buffer): void {
    if (data.length === 0) return;
    if (this.#prefix === '') {
      this.#cli.terminal.stdout.write(data);
      this.#endsInNewline = data.at(-1) === newline;
      return;
    }
    let rest: Buffer = this.#line.length > 0 ? Buffer.concat([this.#line, data]) : data;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      this.#print(rest.subarray(0, end), true);
      rest = rest.subarray(end + 1);
    }
    if (rest.length > maxLineBytes) {
      this.#print(rest, true);
      rest = Buffer.alloc(0);
    }
    this.#line = rest;
  }

  #print(line: Uint8Array, ends: boolean): void {
    this.#cli.terminal.stdout.write(
      Buffer.concat([Buffer.from(this.#prefix), line, Buffer.from(ends ? '\n' : '')]),
    );
    this.#endsInNewline = ends;
  }
}
