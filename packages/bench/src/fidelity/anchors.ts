// Figures that others published or that we are held to, for one trace, machine and policy each.
import type { Durations, Measures } from '@muster/sim';

export interface Anchor {
  readonly name: string;
  readonly trace: 'kth' | 'philly';
  /** Of 100 counted nodes; of nodes with 8 GPUs. */
  readonly devices: number;
  readonly policy: string;
  readonly durations: Durations;
  /** Ties of arrival: the file's order, or the shorter first. */
  readonly ties: 'file' | 'shorter';
  readonly value: (measures: Measures) => number;
  readonly unit: string;
  readonly published: number;
  readonly reference: string;
  readonly aim: string | null;
}

const wait = (measures: Measures): number => measures.avgWaitS;
const slowdown = (measures: Measures): number => measures.boundedSlowdown;
const longest = (measures: Measures): number => measures.maxWaitS;

const kth = { trace: 'kth', devices: 100, ties: 'file' } as const;
const textbook = 'another simulator, same jobs';

function kthPair(name: string, policy: string, durations: Durations, waitS: number, slow: number): Anchor[] {
  const at = { ...kth, policy, durations, reference: textbook, aim: 'equal' };
  return [
    { name: `kth_${name}_wait_s`, ...at, value: wait, unit: 's', published: waitS },
    { name: `kth_${name}_slowdown`, ...at, value: slowdown, unit: 'x', published: slow },
  ];
}

function phillyRow(
  devices: number,
  policy: string,
  published: number,
  ties: Anchor['ties'] = 'file',
): Anchor {
  const name = `philly_${devices}_${policy}${ties === 'file' ? '' : '_shorter_first'}_s`;
  const at = { trace: 'philly', devices, policy, durations: 'asked', ties, value: wait, unit: 's' } as const;
  return {
    name,
    ...at,
    published,
    reference: textbook,
    aim: policy === 'fifo' && ties === 'file' ? null : 'within 5 %',
  };
}

/** Muster beside what it is to beat. */
function musterRows(durations: Durations): Anchor[] {
  const name = `muster_${durations}`;
  return [...kthAims(name, 'muster', durations), phillyAim(name, 'muster', durations)];
}

/** Without an oracle; runs may be stopped. */
function phillyAim(name: string, policy: string, durations: Durations): Anchor {
  const at = { trace: 'philly', devices: 512, policy, durations, ties: 'file' } as const;
  const against = { published: 7938, reference: 'the oracle SSF', aim: '< 7,938 s' };
  return { name: `philly_512_${name}_s`, ...at, value: wait, unit: 's', ...against };
}

/** Without an oracle and without stopping anybody. */
function kthAims(name: string, policy: string, durations: Durations): Anchor[] {
  const kthAt = { ...kth, policy, durations };
  return [
    {
      name: `kth_${name}_wait_s`,
      ...kthAt,
      value: wait,
      unit: 's',
      published: 6847,
      reference: 'EASY on asked times',
      aim: '< 5,400 s',
    },
    {
      name: `kth_${name}_slowdown`,
      ...kthAt,
      value: slowdown,
      unit: 'x',
      published: 91.3,
      reference: 'EASY on asked times',
      aim: '< 45',
    },
    {
      name: `kth_${name}_longest_s`,
      ...kthAt,
      value: longest,
      unit: 's',
      published: 262_194,
      reference: 'the longest wait under EASY on asked times',
      aim: 'at most twice',
    },
  ];
}

/** How many jobs stayed within what was learned for them. */
function coverageRows(trace: Anchor['trace'], devices: number): Anchor[] {
  const at = { trace, devices, policy: 'learned', durations: 'learned', ties: 'file', unit: '%' } as const;
  const reference = 'what the words promise';
  return [
    {
      name: `${trace}_p50_coverage`,
      ...at,
      value: ({ coverageP50 }) => 100 * (coverageP50 ?? 0),
      published: 50,
      reference,
      aim: '48 to 52 %',
    },
    {
      name: `${trace}_p90_coverage`,
      ...at,
      value: ({ coverageP90 }) => 100 * (coverageP90 ?? 0),
      published: 90,
      reference,
      aim: '88 to 92 %',
    },
  ];
}

export const anchors: readonly Anchor[] = [
  ...kthPair('easy_asked', 'easy', 'asked', 6847, 91.3),
  ...kthPair('easy_exact', 'easy', 'exact', 6380, 72.3),
  ...kthPair('easy_sjbf_exact', 'easy-sjbf', 'exact', 5475, 50.6),
  phillyRow(512, 'fifo', 833_677),
  phillyRow(512, 'fifo', 803_348, 'shorter'),
  phillyRow(512, 'sjf', 13_151),
  phillyRow(512, 'ssf', 7938),
  phillyRow(768, 'fifo', 2202),
  phillyRow(768, 'fifo', 2937, 'shorter'),
  phillyRow(768, 'sjf', 676),
  phillyRow(768, 'ssf', 608),
  ...musterRows('asked'),
  ...musterRows('learned'),
  ...kthAims('learned', 'learned', 'learned'),
  phillyAim('learned_preemptive', 'learned-preemptive', 'learned'),
  ...coverageRows('kth', 100),
  ...coverageRows('philly', 512),
];
