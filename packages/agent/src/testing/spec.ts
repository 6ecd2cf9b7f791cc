// A task as the supervisor gets it, with values a test need not care about.
import type { TaskSpec } from '../supervisor/protocol.ts';
import { freshRun } from './fake-server.ts';

export function specOf(command: readonly string[], parts: Partial<TaskSpec> = {}): TaskSpec {
  return {
    run: freshRun(),
    rank: 0,
    command,
    env: {},
    workdir: null,
    scratch: '/scratch',
    user: null,
    cpuMilli: 1000,
    memoryMib: 1024,
    outputLimitMib: 1,
    stop: { signal: 'TERM', graceMs: 10_000 },
    timeLimitMs: null,
    words: { memory: '1GiB', timeLimit: '' },
    ...parts,
  };
}
