// The world a command sees: streams, environment, clock and Ctrl-C. Given as a value, so that tests run whole commands
// in process and the executable passes the real ones.

export interface OutStream {
  write(data: string | Uint8Array): boolean;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  /** True while the reader is slower than we are; `drain` says when it has caught up. */
  readonly writableNeedDrain?: boolean | undefined;
  once?(event: 'drain', listener: () => void): unknown;
}

export interface InStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean | undefined;
  setRawMode?(on: boolean): unknown;
}

export interface Terminal {
  readonly stdin: InStream;
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly nowMs: () => number;
  /** Calls the listener at each Ctrl-C until the returned function is called; the newest listener alone hears it. */
  readonly onInterrupt: (listener: () => void) => () => void;
}

/** The newest listener hears Ctrl-C; when there is none, `otherwise` does. */
export class Interrupts {
  #listeners: (() => void)[] = [];
  #otherwise: () => void;

  constructor(otherwise: () => void) {
    this.#otherwise = otherwise;
  }

  readonly on = (listener: () => void): (() => void) => {
    this.#listeners.push(listener);
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  };

  readonly interrupt = (): void => {
    (this.#listeners.at(-1) ?? this.#otherwise)();
  };
}
