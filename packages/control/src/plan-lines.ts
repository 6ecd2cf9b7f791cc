// A plan in words, one line a unit or verdict, so that two plans can be compared line by line by a person.
import {
  type EventBody,
  type NodeId,
  type Places,
  type Plan,
  type PlanUnit,
  verdictText,
} from '@muster/model';

export type NodeName = (node: NodeId) => string;

export function planLines({ units, verdicts }: Plan, nameOf: NodeName): string[] {
  return [
    ...units.map((unit) => unitLine(unit, nameOf)),
    ...verdicts.map(({ entry, verdict }) => {
      const [project, tier, priority] = entry.split('|');
      return `tell jobs of ${project}, tier ${tier}, priority ${priority}: ${verdictText(verdict)}`;
    }),
  ];
}

function unitLine(unit: PlanUnit, nameOf: NodeName): string {
  switch (unit.kind) {
    case 'start':
      return startLine(unit.run, unit, nameOf);
    case 'preempt': {
      const victims = unit.claim.victims.map(({ run }) => run).join(', ');
      return `preempt ${victims} for ${unit.run} ${placesText(unit.claim, nameOf)}`;
    }
    case 'release':
      return `give up the claim of ${unit.run}: ${unit.reason.message}`;
  }
}

function startLine(run: string, places: Places, nameOf: NodeName): string {
  return `start ${run} ${placesText(places, nameOf)}`;
}

function placesText({ tasks }: Places, nameOf: NodeName): string {
  const byNode = new Map<NodeId, string[]>();
  for (const { node, devices } of tasks)
    byNode.set(node, [...(byNode.get(node) ?? []), devices.length > 0 ? `[${devices.join(' ')}]` : '[]']);
  return `on ${[...byNode].map(([node, devices]) => `${nameOf(node)} ${devices.join('')}`).join(', ')}`;
}

/** The line of a unit as its commit wrote it into the log; null for events of something else. */
export function committedLine(body: EventBody, nameOf: NodeName): string | null {
  switch (body.kind) {
    case 'run.planned':
      return startLine(body.run, body, nameOf);
    case 'job.claimed': {
      const victims = body.claim.victims.map(({ run }) => run).join(', ');
      return `preempt ${victims} for ${body.run} ${placesText(body.claim, nameOf)}`;
    }
    case 'plan.dropped':
      return `a unit of ${body.run}, dropped: ${body.refusal}`;
    default:
      return null;
  }
}
