import { describe, expect, it } from "vitest";
import { findLibrary, type Library, runScenarios, scenarios } from "../src/index.js";

/** Scenarios that take a few seconds. The others are run by the command, see README.md. */
const quick = ["weights", "inverted header match", "direct response and redirect", "RBAC deny", "EDS drain"];

describe.each(["Go", "Node"] as const)("a client and servers in %s", (name) => {
  it("do what the objects say, and reject nothing", { timeout: 240_000 }, async ({ skip }) => {
    const library: Library | Error = await findLibrary(name).catch((error: unknown) => error as Error);
    if (library instanceof Error) return skip(`no ${name}: ${library.message}`);
    const chosen = scenarios.filter((scenario) => quick.includes(scenario.name));
    const { outcomes } = await runScenarios(library, chosen);
    expect(outcomes).toEqual(quick.map((scenario) => ({ scenario, problem: undefined, rejections: [] })));
  });
});
