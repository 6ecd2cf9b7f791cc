// How a task's output lies on disk, known to the writer (supervisor) and the reader (agent) alike. A directory a task,
// made with the first byte: `head` holds the first half of what may be kept, `tail.<offset>` files the last half, each
// named by the absolute offset of its first byte. When there are too many, the oldest tail file goes: the bytes between
// the head and the oldest tail are the dropped ones. The names and sizes say everything, so nothing else has to be kept.
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export const tailFiles = 4;

export function headBytes(limitMib: number): number {
  return (limitMib * 1024 * 1024) / 2;
}

/** Four tail files of an eighth each: at least three eighths of the limit are always the newest bytes. */
export function tailFileBytes(limitMib: number): number {
  return headBytes(limitMib) / tailFiles;
}

export interface OutputPiece {
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
  readonly changedMs: number;
}

/** The pieces in order; none when the task has printed nothing. */
export async function listPieces(dir: string): Promise<OutputPiece[]> {
  const names = await readdir(dir).catch(() => [] as string[]);
  const pieces = await Promise.all(
    names.map(async (name) => {
      const path = join(dir, name);
      const offset = name === 'head' ? 0 : Number(/^tail\.(\d+)$/.exec(name)?.[1] ?? Number.NaN);
      // A file may be rotated away between the listing and the look.
      const found = await stat(path).catch(() => null);
      return { path, offset, bytes: found?.size ?? -1, changedMs: found?.mtimeMs ?? 0 };
    }),
  );
  return pieces
    .filter((piece) => piece.bytes >= 0 && Number.isSafeInteger(piece.offset))
    .sort((a, b) => a.offset - b.offset);
}

export interface OutputSlice {
  /** Where the data begins: later than asked when the bytes in between were dropped. */
  readonly offset: number;
  readonly data: Buffer;
  readonly size: number;
}

export async function readOutput(dir: string, offset: number, max: number): Promise<OutputSlice> {
  const pieces = await listPieces(dir);
  const last = pieces.at(-1);
  const size = last ? last.offset + last.bytes : 0;
  const piece = pieces.find((candidate) => offset < candidate.offset + candidate.bytes);
  if (!piece) return { offset: Math.min(offset, size), data: Buffer.alloc(0), size };
  const from = Math.max(offset, piece.offset);
  const want = Math.min(max, piece.offset + piece.bytes - from);
  let file: FileHandle;
  try {
    file = await open(piece.path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Rotated away since the listing; there is a newer oldest piece now.
    return readOutput(dir, offset, max);
  }
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(want), 0, want, from - piece.offset);
    return { offset: from, data: buffer.subarray(0, bytesRead), size };
  } finally {
    await file.close();
  }
}
