import { findEnvoy } from "@istiod/envoy-binary";
import { expect, it, vi } from "vitest";
import { NO_ENVOY, putCredentials } from "./agent-fixture.js";
import { FakeIstiod, scratch } from "./fakes.js";
import { runProxy } from "./readme-example.js";

it("the README's example runs a proxy", async ({ skip }) => {
  const envoy = await findEnvoy();
  skip(!envoy, NO_ENVOY);
  const directory = await scratch();
  const istiod = await FakeIstiod.start({
    async *deltaAggregatedResources(requests) {
      for await (const { typeUrl, responseNonce } of requests) if (responseNonce === "") yield { typeUrl, nonce: "1" };
    },
  });
  await putCredentials(directory, istiod);
  const end = await runProxy(directory, "127.0.77.9", `127.0.0.1:${istiod.port}`, {
    ENVOY_PATH: envoy ?? "",
    POD_NAME: "cart-1",
    POD_NAMESPACE: "shop",
  });
  await vi.waitFor(async () => expect((await fetch("http://127.0.77.9:15021/healthz/ready")).status).toBe(200), {
    timeout: 20_000,
    interval: 100,
  });
  await end();
});
