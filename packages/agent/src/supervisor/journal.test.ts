import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunId } from '@muster/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { specOf } from '../testing/spec.ts';
import { Cgroups } from './cgroups.ts';
import { Journal, type JournalRecord } from './journal.ts';
import { Leftovers } from './leftovers.ts';
import { taskKey } from './protocol.ts';
import { recover, snapshot } from './recover.ts';
import type { TaskDeps } from './task-process.ts';
import { Tasks } from './tasks.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-journal-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open: JournalRecord = { r: 'open', version: 1, bootId: 'this' };
const claim = (key: string): JournalRecord => ({ r: 'claim', key, atMs: 1, spec: specOf(['true']) });
const recovery = { bootId: 'this', cgroups: Cgroups.none(), leftovers: new Leftovers() };

describe('the journal', () => {
  it('reads back what was appended, in order', async () => {
    const path = join(dir, 'journal');
    const journal = await Journal.create(path, [open]);
    const records = Array.from({ length: 100 }, (_, i) => claim(`k${i}`));
    await Promise.all(records.map((record, i) => journal.append(record, i % 2 === 0)));
    expect(await Journal.read(path)).toEqual([open, ...records]);
  });

  it('survives a torn line without losing the next one', async () => {
    const path = join(dir, 'journal');
    const journal = await Journal.create(path, [open]);
    appendFileSync(path, '{"r":"exit","key":"half');
    // As after a crash: the next process appends behind what is there.
    const again = await Journal.create(join(dir, 'other'), await Journal.read(path));
    await again.append(claim('a'), true);
    await journal.append(claim('b'), true);
    expect((await Journal.read(path)).map(({ r }) => r)).toEqual(['open', 'claim']);
  });

  it('can be replaced while others append, losing nothing', async () => {
    const path = join(dir, 'journal');
    const journal = await Journal.create(path, [open]);
    const said: JournalRecord[] = [open];
    const append = (key: string, durable: boolean): Promise<void> => {
      said.push(claim(key));
      return journal.append(said.at(-1)!, durable);
    };
    const first = Array.from({ length: 20 }, (_, i) => append(`a${i}`, true));
    const compacted = journal.compact(() => [...said]);
    const second = Array.from({ length: 20 }, (_, i) => append(`b${i}`, i % 2 === 0));
    await Promise.all([...first, ...second, compacted]);
    const keys = new Set((await Journal.read(path)).flatMap((record) => ('key' in record ? record.key : [])));
    expect(keys.size).toBe(40);
    expect(readFileSync(path).length).toBeGreaterThan(0);
  });

  it('is empty when there is none, and no journal at all when it cannot be read', async () => {
    expect(await Journal.read(join(dir, 'none'))).toEqual([]);
    // A directory in its place stands for every error but "there is none".
    await expect(Journal.read(dir)).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('says in the new file what was just written to the old one', async () => {
    const path = join(dir, 'journal');
    const journal = await Journal.create(path, [open]);
    const done: JournalRecord[] = [];
    // As tasks do it: first written, then remembered.
    const end = async (key: string): Promise<void> => {
      await journal.append({ r: 'acked', key });
      done.push({ r: 'acked', key });
    };
    const ends = end('a');
    const compacted = journal.compact(() => [open, ...done]);
    await Promise.all([ends, compacted]);
    expect(await Journal.read(path)).toContainEqual({ r: 'acked', key: 'a' });
  });

  it('stays small however many tasks have come and gone', async () => {
    const path = join(dir, 'journal');
    const journal = await Journal.create(path, [open]);
    const above = 20_000;
    const recovered = { claims: new Map<string, number>(), tasks: [] };
    const events = {
      accepted: () => {},
      started: () => {},
      ended: () => {},
      changed: () => {},
      poke: () => {},
    };
    const tasks = new Tasks(journal, recovered, 'this', {} as TaskDeps, events, above);
    const stop = {
      class: 'cancelled',
      reason: { code: 'cancelled', message: 'test' },
      how: null,
    } as const;
    let largest = 0;
    for (let i = 1; i <= 600; i++) {
      const spec = { ...specOf(['true']), run: `run_000000000000000000_${i}` as RunId };
      await tasks.prepare([spec]);
      await tasks.stop(spec.run, stop);
      tasks.acknowledge([taskKey(spec.run, spec.rank)]);
      // The keys that may not start again remain; they alone are about 20 kB in the end.
      largest = Math.max(largest, journal.sizeBytes);
    }
    expect(largest).toBeGreaterThan(above);
    expect(largest).toBeLessThan(4 * above);
  });

  it('tells the next supervisor which tasks ended, which may still start and which are lost', async () => {
    const exit = { ok: true } as const;
    const records: JournalRecord[] = [
      open,
      ...['ended', 'acked', 'fresh', 'begun'].map(claim),
      { r: 'starting', key: 'begun' },
      { r: 'exit', key: 'ended', exit },
      { r: 'exit', key: 'acked', exit },
      { r: 'acked', key: 'acked' },
    ];
    const { claims, tasks } = await recover(records, recovery);
    expect([...claims.keys()]).toEqual(['ended', 'acked', 'fresh', 'begun']);
    expect(tasks.map(({ key, exit: end }) => [key, end && (end.ok || end.reason.code)])).toEqual([
      ['ended', true],
      ['fresh', null],
      ['begun', 'supervisor-lost'],
    ]);
  });

  it('says the same after it was said in the fewest words', async () => {
    const records = [open, claim('a'), claim('b'), { r: 'acked', key: 'b' } as const];
    const first = await recover(records, recovery);
    const tasks = first.tasks.map((task) => ({ ...task, started: false, pid: 0 }));
    expect(await recover(snapshot('this', first.claims, tasks), recovery)).toEqual(first);
  });
});
