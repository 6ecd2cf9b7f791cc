// Two kinds of tests. `unit` holds everything that needs no process of ours and runs in parallel; `system` starts
// real servers, agents and databases, so its files run two at a time and may take minutes.
import { defineConfig } from 'vitest/config';

const systemTimeoutMs = 180_000;
// Only for what hangs: a busy machine of two cores may be ten times as slow.
const unitTimeoutMs = 60_000;

/** Takes five minutes on three real clusters, which it wants for itself: run by `npm run test:lost-cluster`, and so by CI. */
const onlyWhenAsked = process.env.MUSTER_LOST_CLUSTER ? [] : ['tests/moves/lost-cluster.test.ts'];

export default defineConfig({
  test: {
    // The closing line comes last: CI reads the counts from it.
    reporters: ['default', './scripts/closing-line-reporter.ts'],
    teardownTimeout: systemTimeoutMs,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'tests/structure/**/*.test.ts'],
          testTimeout: unitTimeoutMs,
          hookTimeout: unitTimeoutMs,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'tests/structure/**', ...onlyWhenAsked],
          // They mostly wait: for leases to end, for agents to be missed.
          maxWorkers: 2,
          testTimeout: systemTimeoutMs,
          hookTimeout: systemTimeoutMs,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
