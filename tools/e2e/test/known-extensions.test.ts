import { startBareEnvoy, whyNoEnvoy } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { registry } from "@istiod/envoy-api/registry";
import { expect, it } from "vitest";

it("every extension of a stock Envoy has a known configuration", async ({ skip }) => {
  const reason = await whyNoEnvoy();
  skip(reason !== undefined, reason);
  const envoy = await startBareEnvoy((await findEnvoy())!);
  try {
    expect(envoy.extensionTypes.length).toBeGreaterThan(300);
    expect(envoy.extensionTypes.filter((name) => registry.getMessage(name) === undefined)).toEqual([]);
  } finally {
    await envoy.close();
  }
}, 120_000);
