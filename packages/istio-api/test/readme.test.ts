import { readFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";

test("the README's example reads a DestinationRule", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const example = await readFile(new URL("./readme-example.ts", import.meta.url), "utf8");
  expect(/```ts\n([\s\S]*?)```/.exec(readme)?.[1]).toBe(example);

  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    await import("./readme-example.js");
    expect(log.mock.calls).toEqual([
      [true, 10n],
      [expect.stringContaining('istio.networking.v1alpha3.DestinationRule from JSON: key "hots" is unknown')],
      [
        {
          host: "cart.shop.svc.cluster.local",
          trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" }, outlierDetection: { consecutive5xxErrors: 3, interval: "10s" } },
        },
      ],
    ]);
  } finally {
    log.mockRestore();
  }
});
