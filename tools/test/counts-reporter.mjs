/** Vitest reporter: names every skipped test with its reason, and ends with one plain line of counts. */
export default class CountsReporter {
  /** Matches the names of the tests that were asked for with `-t`; others are counted as skipped, and not listed. */
  #asked;

  /** @param {import("vitest/node").Vitest} vitest */
  onInit(vitest) {
    this.#asked = vitest.config.testNamePattern;
  }

  /** @param {readonly import("vitest/node").TestModule[]} modules */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const skipped = new Map();
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "pending") continue;
        counts[result.state]++;
        if (result.state === "skipped" && this.#isAsked(test)) {
          const reason = result.note ?? "no reason given";
          skipped.set(reason, [...(skipped.get(reason) ?? []), `${module.relativeModuleId}: ${test.fullName}`]);
        }
      }
    }
    for (const [reason, names] of [...skipped].sort(([a], [b]) => (a < b ? -1 : 1))) {
      console.log(`\nskipped (${reason}):`);
      for (const name of names) console.log(`  ${name}`);
    }
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }

  /** Names are matched as Vitest matches them, with spaces between suites. */
  #isAsked(test) {
    return this.#asked === undefined || this.#asked.test(test.fullName.replaceAll(" > ", " "));
  }
}
