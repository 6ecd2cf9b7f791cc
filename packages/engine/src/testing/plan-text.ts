// A plan as a person would write it down, one line a task, for golden tests and failing properties.
import { type Places, type Plan, type PlanUnit, type StartUnit, verdictText } from '@muster/model';

/** The units that start something. */
export function starts(plan: Plan): StartUnit[] {
  return plan.units.filter((unit) => unit.kind === 'start');
}

function unitLines(unit: PlanUnit): string[] {
  const head = `${unit.run} v${unit.jobVersion}`;
  if (unit.kind === 'release') return [`${head} gives its claim up: ${unit.reason.message}`];
  if (unit.kind === 'start') return placesLines(head, unit);
  const { claim } = unit;
  return [
    ...placesLines(`${head} preempts`, claim),
    ...claim.victims.map(({ run, right }) => `  stops ${run} by ${right}`),
  ];
}

function placesLines(head: string, { exclusive, port, tasks }: Places): string[] {
  return [
    `${head}${exclusive ? ' exclusive' : ''} port ${port}`,
    ...tasks.map(
      ({ rank, group, node, cpuMilli, memoryMib, devices, deviceMilli }) =>
        `  ${rank}/${group} ${node} ${cpuMilli}m ${memoryMib}MiB [${devices.join(' ')}]${deviceMilli < 1000 ? ` ${deviceMilli}/1000` : ''}`,
    ),
  ];
}

export function planText(plan: Plan): string {
  const lines = plan.units.flatMap(unitLines);
  const verdicts = plan.verdicts.map(({ entry, verdict }) => {
    const [project, tier, priority] = entry.split('|');
    return `${project} ${tier} ${priority} ${verdictText(verdict)}`;
  });
  const wake = plan.wakeAtMs === null ? [] : [`wake at ${plan.wakeAtMs}`];
  return [...lines, ...verdicts, ...wake].join('\n');
}
