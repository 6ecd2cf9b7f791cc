// Reads a file into a trace: plain or gzipped by its first bytes and not by its name, line by line, so that a file larger than
// memory for its text can be read. The format is the one that was said, or the one that knows the first lines.
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { formatNamed, formats } from './formats.ts';
import type { ReadReport, Trace } from './trace.ts';
import { TraceBuilder } from './trace-builder.ts';
import { type LineReader, type TraceFormat, TraceRefused } from './trace-format.ts';

export interface ReadOptions {
  /** Told to go by the file's first lines when left out. */
  readonly format?: string | undefined;
  /** A part of the file was read, from 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined;
}

export interface TraceRead {
  readonly trace: Trace;
  readonly report: ReadReport;
  readonly format: TraceFormat;
}

/** Enough to pass the longest comments that logs of the archive begin with. */
const headLines = 400;
/** A line longer than this is not a row of a trace, and would fill the memory. */
const lineLimit = 16_000_000;

export async function readTrace(path: string, options: ReadOptions = {}): Promise<TraceRead> {
  const said = options.format === undefined ? null : formatNamed(options.format);
  const file = basename(path);
  const into = new TraceBuilder();
  try {
    const { format, head } = await readInto(into, path, said, options.onProgress);
    const report = into.report(file);
    refuseEmpty(report, format, head);
    return { trace: into.build(file, format.name, format.savesWork), report, format };
  } catch (error) {
    throw refusal(path, file, error);
  }
}

async function readInto(
  into: TraceBuilder,
  path: string,
  said: TraceFormat | null,
  onProgress: ReadOptions['onProgress'],
): Promise<{ readonly format: TraceFormat; readonly head: readonly string[] }> {
  let head: readonly string[] | null = null;
  let format: TraceFormat | null = null;
  let reader: LineReader | null = null;
  let number = 0;
  for await (const lines of linesOf(path, onProgress)) {
    head ??= lines.slice(0, headLines);
    format ??= chosen(said, head);
    reader ??= format.open(into);
    for (const line of lines) reader.line(line, ++number);
  }
  if (!reader || !format || !head) throw new TraceRefused('it is empty');
  reader.end();
  return { format, head };
}

function chosen(said: TraceFormat | null, head: readonly string[]): TraceFormat {
  if (head.every((line) => line.trim() === '')) throw new TraceRefused('it is empty');
  const known = formats.find((format) => format.recognises(head));
  if (said === null && !known)
    throw new TraceRefused(
      `its first lines are of no known format; say which with --format (${formats.map(({ name }) => name).join(', ')})`,
    );
  if (said && known && known !== said && !said.recognises(head))
    throw new TraceRefused(
      `this is not ${said.name} but looks like ${known.name}; say --format ${known.name}`,
    );
  return said ?? known!;
}

function refuseEmpty(report: ReadReport, format: TraceFormat, head: readonly string[]): void {
  if (report.jobs > 0) return;
  const [first] = report.bad;
  const better = formats.find((other) => other !== format && other.recognises(head));
  const hint = better ? `; it looks like ${better.name}` : '';
  if (first)
    throw new TraceRefused(
      `line ${first.line}: ${first.why}; no row of it is a job of format ${format.name}${hint}`,
    );
  const why = report.excluded.map(({ reason, count }) => `${count} because ${reason}`).join(', ');
  throw new TraceRefused(`it has no jobs${why === '' ? '' : ` (excluded: ${why})`}${hint}`);
}

function refusal(path: string, file: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof TraceRefused) return new TraceRefused(`${file}: ${message}`);
  if (code === 'ENOENT') return new TraceRefused(`there is no file ${path}`);
  if (code === 'EISDIR') return new TraceRefused(`${path} is a folder, not a file`);
  if (code === 'EACCES') return new TraceRefused(`${path} may not be read`);
  if (code?.startsWith('Z_'))
    return new TraceRefused(`${path} begins as a gzip file but is cut or broken: ${message}`);
  return error as Error;
}

/** The lines of each piece that was read, in order. */
async function* linesOf(path: string, onProgress?: (part: number) => void): AsyncGenerator<string[]> {
  const file = await open(path);
  try {
    const size = (await file.stat()).size;
    const magic = Buffer.alloc(2);
    await file.read(magic, 0, 2, 0);
    const gzipped = magic[0] === 0x1f && magic[1] === 0x8b;
    let read = 0;
    const raw = file.createReadStream({ start: 0, autoClose: false });
    raw.on('data', (chunk) => {
      read += chunk.length;
      onProgress?.(size === 0 ? 1 : Math.min(1, read / size));
    });
    yield* split(gzipped ? through(raw) : raw);
  } finally {
    await file.close();
  }
}

function through(raw: Readable): Readable {
  const gunzip = createGunzip();
  raw.on('error', (error) => gunzip.destroy(error));
  return raw.pipe(gunzip);
}

async function* split(stream: Readable): AsyncGenerator<string[]> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > lineLimit)
      throw new TraceRefused('it has a line of more than 16 MB, so it is no trace');
    if (lines.length > 0) yield lines.map(withoutReturn);
  }
  if (rest !== '') yield [withoutReturn(rest)];
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
