// The tree of switches, from `scontrol show topology`: which switch of each level a node is below. Level 0 is the leaf.
import { expandHostlist } from './hostlist.ts';

/** Names of switches by level, for each node. */
export type Switches = ReadonlyMap<string, ReadonlyMap<number, string>>;

const line = /^SwitchName=(\S+) Level=(\d{1,2}) LinkSpeed=\d+(?: Nodes=(\S+))?(?: Switches=\S+)?\s*$/;

/** Throws on what it cannot read; a cluster without a tree has none. */
export function parseTopology(text: string): Switches {
  const switches = new Map<string, Map<number, string>>();
  for (const one of text.split('\n')) {
    if (one.trim() === '' || /^No topology information/.test(one)) continue;
    const [, name, level, nodes] = line.exec(one) ?? [];
    if (name === undefined) throw new Error(`cannot read the switch ${JSON.stringify(one.slice(0, 80))}`);
    if (nodes === undefined) continue;
    for (const node of expandHostlist(nodes)) {
      const above = switches.get(node) ?? new Map<number, string>();
      switches.set(node, above.set(Number(level), name));
    }
  }
  return switches;
}
