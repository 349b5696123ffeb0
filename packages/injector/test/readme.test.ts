import { expect, test } from "vitest";
import { answer } from "./readme-example.js";

test("the README's example injects pods", () => {
  const mutation = answer({ metadata: { name: "web" }, spec: { containers: [{ name: "app" }] } });
  expect(mutation).toMatchObject({ outcome: "injected", pod: "Pod shop/web" });
  expect(JSON.stringify(mutation)).toContain(
    '"image":"docker.io/istio/proxyv2:1.30.0","args":["proxy","sidecar","web"]',
  );
  expect(answer({ spec: { hostNetwork: true } })).toMatchObject({ outcome: "skipped", reason: "host-network" });
});
