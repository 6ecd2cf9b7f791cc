// Tells of property tests only: a line as each is done, and in the end one line a property, with the seed and the path of what
// failed. `npm run test:properties` runs with it.
import type { Reporter, TestCase, TestModule } from 'vitest/node';
// Brings the type of what tests note of themselves.
import type { Tried } from '../packages/engine/src/testing/cases.ts';

interface Property {
  readonly name: string;
  readonly file: string;
  readonly passed: boolean;
  readonly seconds: number;
  readonly tried: Tried;
}

export function propertyLine({ name, file, passed, tried }: Property): string {
  const { cases, seed, path } = tried;
  const seen = `${file}: ${name}`;
  if (passed) return `held    ${String(cases).padStart(6)} cases  ${seen}`;
  // One that took too long has no case to try again.
  if (path === null) return `FAILED  after ${cases} cases  ${seen}`;
  return `FAILED  at case ${cases}  ${seen}\n        MUSTER_CASES=1 MUSTER_SEED=${seed} MUSTER_PATH=${path}`;
}

export default class PropertyReporter implements Reporter {
  readonly #done: Property[] = [];

  onTestCaseResult(test: TestCase): void {
    const property = propertyOf(test);
    if (!property) return;
    this.#done.push(property);
    process.stdout.write(`${propertyLine(property)} (${property.seconds} s)\n`);
    const { errors = [] } = test.result();
    for (const { message } of errors) process.stdout.write(`${message}\n`);
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    const failed = this.#done.filter(({ passed }) => !passed);
    process.stdout.write('\n');
    for (const property of this.#done) process.stdout.write(`${propertyLine(property)}\n`);
    const broken = unhandledErrors.length + modules.reduce((sum, module) => sum + module.errors().length, 0);
    const others = broken === 0 ? '' : `, ${broken} errors outside tests`;
    process.stdout.write(
      `${this.#done.length - failed.length} properties held, ${failed.length} failed${others}\n`,
    );
  }
}

function propertyOf(test: TestCase): Property | null {
  const { tried } = test.meta();
  if (!tried) return null;
  const seconds = Math.round((test.diagnostic()?.duration ?? 0) / 1000);
  const file = test.module.relativeModuleId.replace(/^.*\//, '');
  return { name: test.fullName, file, passed: test.result().state === 'passed', seconds, tried };
}
