import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

it("the README's example is the file that is run here, and prints what it says", async () => {
  const readme = read("../README.md");
  expect(/```ts\n([^]*?)```/.exec(readme)?.[1]).toBe(read("./readme-example.ts"));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    await import("./readme-example.js");
    expect(log.mock.calls[0]?.[0]).toEqual(JSON.parse(/```json\n([^]*?)```/.exec(readme)?.[1] ?? ""));
  } finally {
    log.mockRestore();
  }
});
