// What a format of traces is: one file beside this one that reads its lines into a builder, and a row in `formats.ts`.
import type { TraceBuilder } from './trace-builder.ts';

export interface TraceFormat {
  readonly name: string;
  readonly about: string;
  /** GPUs of a node where the format's machines are known for it; 1 where what is counted has no nodes. */
  readonly devicesPerNode: number;
  /** Whether its jobs are known to save their work now and then; nobody expects that of the batch jobs of old machines. */
  readonly savesWork: boolean;
  /** Whether a file that begins with these lines is of this format. */
  readonly recognises: (head: readonly string[]) => boolean;
  /** A reader of one file. It throws a TraceRefused when the file as a whole cannot be read. */
  readonly open: (into: TraceBuilder) => LineReader;
}

export interface LineReader {
  /** Called with every line, its number counted from 1; empty ones included. */
  readonly line: (text: string, number: number) => void;
  readonly end: () => void;
}

/** The file is not what it was said to be; the message says what to do. */
export class TraceRefused extends Error {
  override readonly name = 'TraceRefused';
}
