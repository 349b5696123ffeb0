import type { Pod } from "@istiod/injector";
import { expect, it } from "vitest";
import { prepare } from "./readme-example.js";

it("the README's example takes over the probes of pods that are injected", () => {
  const pod: Pod = { spec: { containers: [{ name: "app", livenessProbe: { tcpSocket: { port: 80 } } }] } };
  expect(prepare(pod, "shop").spec?.containers?.[0]?.livenessProbe?.httpGet?.port).toBe(15020);
  expect(prepare(pod, "kube-system")).toBe(pod);
});
