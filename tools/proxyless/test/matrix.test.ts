import { describe, expect, it } from "vitest";
import { findLibrary, type Library, runScenarios, scenarios } from "../src/index.js";

/** Scenarios that take a few seconds. The others are run by the command, see README.md. */
const quick = ["weights", "inverted header match", "direct response and redirect", "RBAC deny", "EDS drain"];
/** A Java virtual machine takes seconds to start, and there is one for each client and server. */
const quickest = ["inverted header match", "RBAC deny"];

describe.each([
  ["Go", quick],
  ["Node", quick],
  ["Java", quickest],
] as const)("a client and servers in %s", (name, names) => {
  it("do what the objects say, and reject nothing", { timeout: 240_000 }, async ({ skip }) => {
    const library: Library | Error = await findLibrary(name).catch((error: unknown) => error as Error);
    if (library instanceof Error) return skip(`no ${name}: ${library.message}`);
    const chosen = scenarios.filter((scenario) => names.includes(scenario.name));
    const { outcomes } = await runScenarios(library, chosen);
    expect(outcomes).toEqual(names.map((scenario) => ({ scenario, problem: undefined, rejections: [] })));
  });
});
