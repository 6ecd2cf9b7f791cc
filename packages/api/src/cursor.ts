// Cursors of lists: opaque, and signed so that a made-up one, one of another list, or one from before a restore is told
// apart from ours and answered with 400. The key follows from the log id, so that all servers of one database agree. The
// signature is no wall between tenants: a cursor is only a position, and every query applies the caller's scope itself.
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Page } from '@muster/model';
import { refuse } from './problem.ts';

export interface Cursors {
  sign(list: string, position: string): Promise<string>;
  /** The position, or a throw of bad-cursor. */
  read(list: string, cursor: string): Promise<string>;
}

const macBytes = 12;

export function createCursors(logId: () => Promise<string>): Cursors {
  const mac = async (list: string, position: string): Promise<Buffer> => {
    const key = hash('sha256', `muster-cursor:${await logId()}`, 'buffer');
    return createHmac('sha256', key).update(`${list}\n${position}`).digest().subarray(0, macBytes);
  };
  return {
    async sign(list, position) {
      return Buffer.concat([await mac(list, position), Buffer.from(position)]).toString('base64url');
    },
    async read(list, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      const position = bytes.subarray(macBytes).toString();
      const expected = await mac(list, position);
      const given = bytes.subarray(0, macBytes);
      if (given.length === macBytes && timingSafeEqual(given, expected)) return position;
      throw refuse(
        'bad-cursor',
        'the cursor is not one that this list gave out; start again without a cursor',
      );
    },
  };
}

/** One page of a list that is short enough to be read whole, in the order of its names. */
export async function pageByName<Row, View>(
  cursors: Cursors,
  list: string,
  rows: readonly Row[],
  asked: { readonly limit: number; readonly cursor: string | undefined },
  name: (row: Row) => string,
  view: (row: Row) => View,
): Promise<Page<View>> {
  const after = asked.cursor === undefined ? null : await cursors.read(list, asked.cursor);
  const sorted = rows
    .filter((row) => after === null || name(row) > after)
    .sort((a, b) => (name(a) < name(b) ? -1 : 1));
  const page = sorted.slice(0, asked.limit);
  const last = sorted.length > asked.limit ? page.at(-1) : undefined;
  return { items: page.map(view), next: last ? await cursors.sign(list, name(last)) : null };
}
