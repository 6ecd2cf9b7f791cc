// Ends a test run with one plain line, `N passed, N failed, N skipped`, which CI reads. It stands beside vitest's
// default reporter, whose coloured summary is for people. A file that does not load and an error outside any test
// count as failed: a run with either must never look clean.
import type { Reporter, TestModule } from 'vitest/node';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function closingLine(counts: Counts): string {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
}

export function countResults(modules: ReadonlyArray<TestModule>, errorsOutsideTests: number): Counts {
  let passed = 0;
  let failed = errorsOutsideTests;
  let skipped = 0;
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed += 1;
      else if (state === 'skipped') skipped += 1;
      // A test that is still pending when the run ends never reported: that is a failure, not a gap.
      else failed += 1;
    }
    failed += module.errors().length;
    for (const suite of module.children.allSuites()) failed += suite.errors().length;
  }
  return { passed, failed, skipped };
}

export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    process.stdout.write(`${closingLine(countResults(modules, unhandledErrors.length))}\n`);
  }
}
