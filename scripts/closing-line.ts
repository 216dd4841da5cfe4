import type { Reporter, TestModule } from 'vitest/node';

/** Ends a test run with its duration and one plain line: N passed, N failed, N skipped. */
export default class ClosingLine implements Reporter {
  private readonly startedMs = performance.now();

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string) => states.filter((each) => each === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length;
    console.log(`\nThe tests took ${Math.round((performance.now() - this.startedMs) / 1000)} s.`);
    console.log(`${count('passed')} passed, ${count('failed') + broken} failed, ${count('skipped')} skipped`);
  }
}
