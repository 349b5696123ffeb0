/**
 * Vitest reporter: names every skipped test with its reason, then the tests that failed once and passed when they ran
 * again, then those that failed, and ends with one plain line of counts.
 */
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
    const unsteady = [];
    const failed = unhandledErrors.map((error) => `outside of a test: ${firstLine(error)}`);
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) {
        counts.failed++;
        failed.push(`${module.relativeModuleId}: ${firstLine(module.errors()[0])}`);
      }
      for (const suite of module.children.allSuites()) {
        for (const error of suite.errors()) {
          counts.failed++;
          failed.push(describe(module, suite, error));
        }
      }
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "pending") continue;
        counts[result.state]++;
        if (result.state === "failed") failed.push(describe(module, test, result.errors[0]));
        else if (test.diagnostic()?.flaky) unsteady.push(describe(module, test, result.errors?.[0]));
        if (result.state === "skipped" && this.#isAsked(test)) {
          const reason = result.note ?? "no reason given";
          skipped.set(reason, [...(skipped.get(reason) ?? []), `${module.relativeModuleId}: ${test.fullName}`]);
        }
      }
    }
    for (const [reason, names] of [...skipped].sort(([a], [b]) => (a < b ? -1 : 1))) {
      console.log(`\nskipped (${reason}):`);
      printAll(names);
    }
    if (unsteady.length > 0) {
      console.log("\nfailed once, and passed when run again:");
      printAll(unsteady);
    }
    if (failed.length > 0) {
      console.log("\nfailed:");
      printAll(failed);
    }
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }

  /** Names are matched as Vitest matches them, with spaces between suites. */
  #isAsked(test) {
    return this.#asked === undefined || this.#asked.test(test.fullName.replaceAll(" > ", " "));
  }
}

function printAll(lines) {
  for (const line of lines) console.log(`  ${line}`);
}

/** "file: suite > test: first line of the error", for a test or suite. */
function describe(module, entity, error) {
  return `${module.relativeModuleId}: ${entity.fullName}: ${firstLine(error)}`;
}

function firstLine(error) {
  return (error?.message ?? "no error given").split("\n")[0];
}
