// Whether the replay gives what other simulators give, and what Muster makes of the same jobs: each figure beside the published one. Strict FIFO is told
// down to the job: where the file's order of ties and the other one part.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  differenceText,
  firstDifference,
  fleetOf,
  measure,
  type Played,
  policyRows,
  readTrace,
  replay,
  shorterFirst,
  type Trace,
  tieCount,
  withTies,
} from '@muster/sim';
import { CalledWrongly } from '../called-wrongly.ts';
import { repository } from '../control/child.ts';
import type { BenchOptions } from '../main.ts';
import { row, type ToldRow } from '../report.ts';
import { type Anchor, anchors } from './anchors.ts';

const files = {
  kth: '../shared/traces/swf/KTH-SP2-1996-2.1-cln.swf.gz',
  philly: '../shared/traces/philly/philly.csv.gz',
} as const;

export async function benchFidelity({ quick, progress }: BenchOptions): Promise<readonly ToldRow[]> {
  const traces = new Map<string, Trace>();
  for (const [name, file] of Object.entries(files)) {
    const path = join(repository, file);
    if (existsSync(path)) traces.set(name, (await readTrace(path)).trace);
    else progress(`${path} is not there; its rows are left out`);
  }
  if (traces.size === 0)
    throw new CalledWrongly('none of the public traces is there (../shared/traces/swf, philly)');
  const played = new Map<string, Played>();
  const rows: ToldRow[] = [];
  for (const anchor of anchors) {
    const trace = traces.get(anchor.trace);
    // Muster on Philly takes longer than all the others together.
    if (!trace || (quick && anchor.policy === 'muster')) continue;
    rows.push(rowOf(anchor, playOnce(anchor, trace, played)));
    progress(`${anchor.name}: ${rows.at(-1)!.value} ${anchor.unit}`);
  }
  const philly = traces.get('philly');
  if (philly) for (const devices of [512, 768]) progress(tiesText(philly, devices, played));
  return rows;
}

function playOnce(anchor: Anchor, trace: Trace, played: Map<string, Played>): Played {
  const key = keyOf(anchor);
  const known = played.get(key);
  if (known) return known;
  const policy = policyRows.find(({ name }) => name === anchor.policy)!.make(anchor.durations);
  const fleet = anchor.trace === 'kth' ? fleetOf(anchor.devices, 1) : fleetOf(anchor.devices / 8, 8);
  const outcome = replay(anchor.ties === 'file' ? trace : withTies(trace, shorterFirst), fleet, policy);
  played.set(key, outcome);
  return outcome;
}

function keyOf({ trace, devices, policy, durations, ties }: Anchor): string {
  return [trace, devices, policy, durations, ties].join(' ');
}

function rowOf(anchor: Anchor, played: Played): ToldRow {
  const { name, value, unit, published, reference, aim, policy, durations, trace, devices } = anchor;
  return row({
    name,
    value: value(measure(played)),
    unit,
    reference: [reference, published],
    about: `${trace === 'kth' ? 'KTH-SP2' : 'Philly'} on ${devices} devices under ${policy} (durations ${durations}), ${played.trace.count} jobs`,
    aim,
  });
}

function tiesText(trace: Trace, devices: number, played: ReadonlyMap<string, Played>): string {
  const of = (ties: Anchor['ties']): Played =>
    played.get(
      keyOf(
        anchors.find((each) => each.policy === 'fifo' && each.devices === devices && each.ties === ties)!,
      ),
    )!;
  const difference = firstDifference(of('shorter'), of('file'));
  const told = difference ? differenceText(difference) : 'no job starts otherwise';
  return `${devices} GPUs, strict FIFO: ${tieCount(trace)} jobs came in the same second as another; with the shorter of them first, ${told}, and all behind it move`;
}
