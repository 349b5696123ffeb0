/**
 * Lets helpers of tests call `afterAll` while tests run: what it closes is closed after the file's tests. Vitest takes
 * hooks only while it collects the tests of a file, and ignores later ones in silence. Other hooks fail then.
 */
import { afterAll, beforeAll, TestRunner } from "vitest";

let collector;
let register;
let late = [];

beforeAll(() => {
  collector = TestRunner.getCurrentSuite();
  register = collector.on;
  collector.on = (name, hook) => {
    if (name !== "afterAll") throw new Error(`${name} was called while tests run, and would have no effect`);
    late.push(hook);
  };
});

afterAll(async () => {
  collector.on = register;
  const hooks = late.reverse();
  late = [];
  for (const hook of hooks) await hook(collector.suite);
});
