import { maxMessageBytes, maxReasonChars, type Observation, type RunId } from '@muster/model';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Beats } from './beats.ts';
import { Reports } from './reports.ts';

const run = 'run_000000000000000000_1' as RunId;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function beating(beatMs = 5000) {
  const sent: (readonly RunId[])[] = [];
  const state = { keys: [] as RunId[], silent: 0 };
  const beats = new Beats(beatMs, {
    keys: () => [...state.keys],
    send: (_beat, keys) => sent.push(keys),
    nowMs: () => Date.now(),
    silent: () => state.silent++,
  });
  return { beats, sent, state };
}

describe('beats', () => {
  it('go at once, and then every so often after the one before was sent', () => {
    const { beats, sent } = beating();
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(1000);
    beats.renewed(1, 5000);
    vi.advanceTimersByTime(3999);
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(sent).toHaveLength(2);
  });

  it('asked for while one is in flight are one, right after its answer, with all keys of then', () => {
    const { beats, sent, state } = beating();
    state.keys.push(run);
    beats.now();
    beats.now();
    expect(sent).toEqual([[]]);
    expect(beats.renewed(1, 5000)).toMatchObject({ keys: [] });
    vi.advanceTimersByTime(1);
    expect(sent).toEqual([[], [run]]);
    expect(beats.renewed(2, 5000)).toMatchObject({ keys: [run] });
  });

  it('count from when they were sent, and each is answered once', () => {
    const { beats } = beating();
    const sentMs = Date.now();
    vi.advanceTimersByTime(700);
    expect(beats.renewed(7, 5000)).toBeNull();
    expect(beats.renewed(1, 5000)).toEqual({ keys: [], sentMs });
    expect(beats.renewed(1, 5000)).toBeNull();
  });

  it('that are not answered end the connection', () => {
    const { state } = beating(5000);
    vi.advanceTimersByTime(10_000);
    expect(state.silent).toBe(1);
  });

  it('end with the connection', () => {
    const { beats, sent } = beating();
    beats.now();
    beats.renewed(1, 5000);
    beats.stop();
    vi.advanceTimersByTime(60_000);
    expect(sent).toHaveLength(1);
  });
});

describe('reports', () => {
  const started = (rank: number): Observation => ({ kind: 'started', run, rank, pid: 1 });

  it('carry together what happened together, and are told when they arrived', () => {
    const acknowledged: Observation[] = [];
    const sent: [number, readonly Observation[]][] = [];
    const reports = new Reports((items) => acknowledged.push(...items));
    reports.add(started(0));
    reports.connected((report, items) => sent.push([report, items]));
    reports.add(started(1));
    vi.advanceTimersByTime(1);
    expect(sent).toEqual([[1, [started(0), started(1)]]]);
    reports.onReported(9);
    expect(acknowledged).toEqual([]);
    reports.onReported(1);
    reports.onReported(1);
    expect(acknowledged).toEqual([started(0), started(1)]);
  });

  it('go again on the next connection, in order, with a new number', () => {
    const sent: [number, readonly Observation[]][] = [];
    const reports = new Reports(() => {});
    const send = (report: number, items: readonly Observation[]) => void sent.push([report, items]);
    reports.connected(send);
    reports.add(started(0));
    vi.advanceTimersByTime(1);
    reports.disconnected();
    reports.add(started(1));
    vi.advanceTimersByTime(1);
    reports.connected(send);
    vi.advanceTimersByTime(1);
    expect(sent.slice(1)).toEqual([[2, [started(0), started(1)]]]);
  });

  it('of checkpoints say how long ago when they are sent, and only the newest word of a task waits', () => {
    const saved = (step: number, rank = 0): Observation => ({
      kind: 'checkpoint',
      run,
      rank,
      agoMs: 5,
      step,
      path: null,
    });
    const sent: (readonly Observation[])[] = [];
    let nowMs = 0;
    const reports = new Reports(
      () => {},
      () => nowMs,
    );
    for (const item of [saved(1), saved(1, 1), saved(2)]) reports.add(item);
    nowMs = 60_000;
    reports.connected((_report, part) => sent.push(part));
    vi.advanceTimersByTime(1);
    const late = { agoMs: 60_005 };
    expect(sent).toEqual([
      [
        { ...saved(1, 1), ...late },
        { ...saved(2), ...late },
      ],
    ]);
  });

  it('stay below the size of a message with the longest of reasons, and none is left out', () => {
    const message = '\u{1f600}'.repeat(maxReasonChars / 2);
    const ended = (rank: number): Observation => ({
      kind: 'ended',
      run,
      rank,
      exit: {
        ok: false,
        class: 'user',
        code: 127,
        signal: null,
        reason: { code: 'no-such-program', message },
      },
    });
    const items = Array.from({ length: 1000 }, (_, rank) => ended(rank));
    const sent: (readonly Observation[])[] = [];
    const reports = new Reports(() => {});
    for (const item of items) reports.add(item);
    reports.connected((_report, part) => sent.push(part));
    vi.advanceTimersByTime(1);
    expect(sent.flat()).toEqual(items);
    for (const part of sent) expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(maxMessageBytes);
  });
});
