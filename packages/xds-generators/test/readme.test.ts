import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

it("the README's example is the file that is run here, and prints what it says", async () => {
  expect(/```ts\n([^]*?)```/.exec(read("../README.md"))?.[1]).toBe(read("./readme-example.ts"));
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    await import("./readme-example.js");
    expect(log.mock.calls).toEqual([
      [["outbound|80||cart.shop.svc.cluster.local", "BlackHoleCluster", "PassthroughCluster", "InboundPassthroughCluster"]],
      [true],
      [10n],
    ]);
  } finally {
    log.mockRestore();
  }
});
