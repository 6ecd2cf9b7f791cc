// Whether the places of a claim are still such as the job asks for: while victims stop, a node may come back with other labels
// or devices, and the policy may name other levels. What is only preferred, or spread, was so when it was claimed.
import type { Claim, GroupDemand, JobDemand, NodeId, TaskPlacement } from '@muster/model';
import type { Fleet } from './fleet.ts';
import { isSuch, satisfies } from './match.ts';
import { labelOfNode } from './tree.ts';

export function suits(fleet: Fleet, demand: JobDemand, { tasks }: Claim): boolean {
  const { groups, topology } = demand;
  if (!tasks.every((task) => admits(fleet, demand, task))) return false;
  if (topology?.mode === 'required' && !areTogether(fleet, tasks, topology.level)) return false;
  return groups.every(({ topology: own, near }, g) => {
    const ofGroup = tasks.filter(({ group }) => group === g);
    if (own?.mode === 'required' && !areTogether(fleet, ofGroup, own.level)) return false;
    if (near === null) return true;
    const target = groups.findIndex(({ name }) => name === near.group);
    const beside = domainsOf(
      fleet,
      tasks.filter(({ group }) => group === target),
      near.level,
    );
    return [...domainsOf(fleet, ofGroup, near.level)].every((domain) => beside.has(domain));
  });
}

/** By the node's labels, capabilities and devices, whatever is taken of them. */
function admits(fleet: Fleet, demand: JobDemand, task: TaskPlacement): boolean {
  const slot = fleet.slots.get(task.node)!;
  const facts = fleet.facts[slot]!;
  const { capabilities } = facts.inventory;
  const { devices } = fleet.byClass[fleet.classOf[slot]!]!.cls;
  if (!demand.constraints.every((rule) => satisfies(labelOfNode(facts, rule.label), rule))) return false;
  if (!demand.capabilities.every((capability) => capabilities.includes(capability))) return false;
  const { accelerators }: GroupDemand = demand.groups[task.group]!;
  if (accelerators.length === 0) return true;
  return accelerators.some((wanted) =>
    task.devices.every((index) => {
      const device = devices[index];
      return device !== undefined && isSuch(device, wanted, fleet.classes.hardware);
    }),
  );
}

function areTogether(fleet: Fleet, tasks: readonly TaskPlacement[], level: string): boolean {
  return domainsOf(fleet, tasks, level).size <= 1;
}

/** Without such a level all are in one. */
function domainsOf({ tree, slots }: Fleet, tasks: readonly { node: NodeId }[], name: string): Set<number> {
  const level = tree.levelNamed(name);
  return new Set(tasks.map(({ node }) => tree.at(slots.get(node)!, Math.max(-1, level))));
}
