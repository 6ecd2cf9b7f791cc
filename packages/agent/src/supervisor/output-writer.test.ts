import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../testing/until.ts';
import { listPieces, readOutput } from './output-files.ts';
import { OutputWriter } from './output-writer.ts';

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function writer(limitMib: number) {
  const root = mkdtempSync(join(tmpdir(), 'muster-output-'));
  dirs.push(root);
  const dir = join(root, 'task');
  return { dir, out: new OutputWriter(dir, limitMib, { onWritten: () => {}, onDrained: () => {} }) };
}

const pattern = (from: number, length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (from + i) % 251));

describe('an output writer', () => {
  it('keeps the head and at least three eighths of the limit at the end, each byte at its offset', async () => {
    const chunks = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(chunks, async (lengths) => {
        // 1/64 MiB: a head of 8 KiB and four tail files of 2 KiB.
        const limitMib = 1 / 64;
        const { dir, out } = writer(limitMib);
        let total = 0;
        for (const length of lengths) {
          out.push(pattern(total, length));
          total += length;
        }
        await out.close();
        expect(out.size).toBe(total);
        const pieces = await listPieces(dir);
        const kept = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
        expect(kept).toBeLessThanOrEqual(limitMib * 1024 * 1024);
        expect(kept).toBeGreaterThanOrEqual(Math.min(total, 8192 + 6144));
        for (let offset = 0; offset < total; ) {
          const slice = await readOutput(dir, offset, 777);
          expect(slice.size).toBe(total);
          expect(slice.offset).toBeGreaterThanOrEqual(offset);
          expect(slice.data.equals(pattern(slice.offset, slice.data.length))).toBe(true);
          offset = slice.offset + slice.data.length;
        }
      }),
      { numRuns: 30 },
    );
  });

  it('writes nothing where nothing may be kept, and still counts', async () => {
    const { dir, out } = writer(0);
    out.push(Buffer.alloc(5000));
    await out.close();
    expect(out.size).toBe(5000);
    expect(await listPieces(dir)).toEqual([]);
  });

  it('drops what cannot be written instead of failing the task, and says when to read on', async () => {
    const { dir } = writer(1);
    let drained = 0;
    const out = new OutputWriter(join(dir, 'x\0y'), 1, { onWritten: () => {}, onDrained: () => drained++ });
    expect(out.push(Buffer.alloc(2 * 1024 * 1024))).toBe(false);
    await out.close();
    expect(out.size).toBe(2 * 1024 * 1024);
    expect(drained).toBe(1);
  });

  it('goes on where it is once there is room again, even if there was none for the first byte', async () => {
    const { dir } = writer(1);
    const inTheWay = join(dir, '..', 'full');
    writeFileSync(inTheWay, '');
    const out = new OutputWriter(join(inTheWay, 'task'), 1, { onWritten: () => {}, onDrained: () => {} });
    out.push(Buffer.from('lost'));
    await until('the first bytes dropped', () => out.size === 4);
    rmSync(inTheWay);
    out.push(Buffer.from('kept'));
    await out.close();
    const { offset, data, size } = await readOutput(join(inTheWay, 'task'), 0, 100);
    expect({ offset, data: data.toString(), size }).toEqual({ offset: 4, data: 'kept', size: 8 });
  });

  it('makes no directory before the first byte', async () => {
    const { dir, out } = writer(1);
    await out.close();
    expect(() => statSync(dir)).toThrow();
    expect(readdirSync(join(dir, '..'))).toEqual([]);
  });
});
