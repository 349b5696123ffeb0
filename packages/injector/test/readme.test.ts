import type { Pod } from "@istiod/injector";
import { expect, test } from "vitest";
import { inject } from "./readme-example.js";

test("the README's example rewrites the probes of injected pods", () => {
  const pod: Pod = { spec: { containers: [{ name: "app", livenessProbe: { tcpSocket: { port: 80 } } }] } };
  expect(inject(pod, "shop").spec?.containers?.[0]?.livenessProbe?.httpGet?.port).toBe(15020);
  expect(inject(pod, "kube-system")).toBe(pod);
});
