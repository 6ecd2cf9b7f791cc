// A plan as a person would write it down, one line a task, for golden tests and failing properties.
import { type Plan, verdictText } from '@muster/model';

export function planText(plan: Plan): string {
  const lines = plan.units.flatMap((unit) => [
    `${unit.run} v${unit.jobVersion}${unit.exclusive ? ' exclusive' : ''} port ${unit.port}`,
    ...unit.tasks.map(
      ({ rank, group, node, cpuMilli, memoryMib, devices }) =>
        `  ${rank}/${group} ${node} ${cpuMilli}m ${memoryMib}MiB [${devices.join(' ')}]`,
    ),
  ]);
  const verdicts = plan.verdicts.map(({ entry, verdict }) => {
    const [project, tier, priority] = entry.split('|');
    return `${project} ${tier} ${priority} ${verdictText(verdict)}`;
  });
  const wake = plan.wakeAtMs === null ? [] : [`wake at ${plan.wakeAtMs}`];
  return [...lines, ...verdicts, ...wake].join('\n');
}
