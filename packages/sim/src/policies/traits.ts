// What is known of a job of a trace before it runs, as `predict` asks for it.
import type { JobTraits } from '@muster/predict';
import type { Trace } from '../traces/trace.ts';

export function traitsOf(trace: Trace, job: number): JobTraits {
  const { names, user, project, program, size, askedMs } = trace;
  return {
    user: names.users[user[job]!]!,
    project: names.projects[project[job]!]!,
    name: names.programs[program[job]!]!,
    devices: size[job]!,
    askedMs: askedMs[job]! > 0 ? askedMs[job]! : null,
  };
}
