// Tries every property of the engine on 10,000 new worlds each, or on as many as MUSTER_CASES says. Files run beside each other,
// as many as there are cores. Arguments: parts of names of files, and `--name PART` for the properties with that in their name.
import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

process.env.MUSTER_CASES ??= '10000';
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { name: { type: 'string' }, workers: { type: 'string' } },
});
await startVitest('test', positionals.length > 0 ? positionals : ['packages/engine/src'], {
  run: true,
  project: ['unit'],
  reporters: ['./scripts/property-reporter.ts'],
  ...(values.name !== undefined && { testNamePattern: values.name }),
  ...(values.workers !== undefined && { maxWorkers: Number(values.workers) }),
});
