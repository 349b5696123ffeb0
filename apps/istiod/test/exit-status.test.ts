import { afterEach, expect, test, vi } from "vitest";
import { run } from "../src/main.js";
import { folder } from "./serving.js";

afterEach(() => {
  process.exitCode = undefined;
  vi.restoreAllMocks();
});

async function statusOf(...args: string[]): Promise<{ readonly status: unknown; readonly error: string }> {
  let error = "";
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => ((error += String(text)), true));
  await run(["node", "istiod", ...args]);
  return { status: process.exitCode, error };
}

test("istiod diff exits with 2 for invalid or missing flags, so that 1 always means a difference", async () => {
  expect(await statusOf("diff", "--before", ".")).toMatchObject({
    status: 2,
    error: expect.stringContaining("required option '--after <dir>' not specified"),
  });
  expect(await statusOf("diff", "--before", "/nowhere", "--after", "/nowhere")).toMatchObject({
    status: 2,
    error: expect.stringMatching(/^istiod: \/nowhere /),
  });
  const empty = await folder({ "a.yaml": "" });
  expect(await statusOf("diff", "--before", empty, "--after", empty)).toMatchObject({ status: 0, error: "" });
  expect(await statusOf("diff", "--help")).toMatchObject({ status: 0 });
});
