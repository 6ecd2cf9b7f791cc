// What a process and the small one that runs programs for it say to each other.

export interface ProgramRequest {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it reads on its standard input. */
  readonly input: string;
  /** It is killed after so long. */
  readonly timeoutMs: number;
  /** And when it prints more than this. */
  readonly maxOutputBytes: number;
}

export interface RunMessage extends ProgramRequest {
  readonly id: number;
}

/** `killed`: by us or by somebody else; nothing is known of what it did. */
export type ProgramEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly message: string };

/** Output comes in pieces, so that hundreds of megabytes are not held twice. */
export type ProgramMessage =
  | { readonly id: number; readonly out: Uint8Array }
  | { readonly id: number; readonly end: ProgramEnd; readonly said: string };
