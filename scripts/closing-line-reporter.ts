// Ends a test run with what was not run, a line each, and one plain line, `N passed, N failed, N skipped`, which CI reads. It
// stands beside vitest's default reporter, whose coloured summary is for people and does not name skipped tests. A file that does
// not load and an error outside any test count as failed: a run with either must never look clean.
import type { Reporter, TestModule, Vitest } from 'vitest/node';

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

/** Suites that lack a component put a whole sentence in place of a name: what was not run, and what gets it. */
export function notRun(modules: ReadonlyArray<TestModule>): string[] {
  const lines = new Set<string>();
  for (const module of modules)
    for (const test of module.children.allTests('skipped'))
      lines.add(
        test.name.startsWith('not run')
          ? test.name
          : `not run: ${test.fullName} (${module.relativeModuleId})`,
      );
  return [...lines];
}

export default class ClosingLineReporter implements Reporter {
  #picked = false;

  onInit(vitest: Vitest): void {
    // Who asks for some tests by name knows that the others are not run.
    this.#picked = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    if (!this.#picked) for (const line of notRun(modules)) process.stdout.write(`${line}\n`);
    process.stdout.write(`${closingLine(countResults(modules, unhandledErrors.length))}\n`);
  }
}
