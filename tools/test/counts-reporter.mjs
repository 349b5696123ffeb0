/** Vitest reporter: names every skipped test with its reason, and ends with one plain line of counts. */
export default class CountsReporter {
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
        if (result.state === "skipped") {
          const reason = result.note ?? "no reason given";
          skipped.set(reason, [...(skipped.get(reason) ?? []), `${module.relativeModuleId}: ${test.fullName}`]);
        }
      }
    }
    for (const [reason, names] of skipped) {
      console.log(`\nskipped (${reason}):`);
      for (const name of names) console.log(`  ${name}`);
    }
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}
