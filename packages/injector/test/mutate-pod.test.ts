import { describe, expect, it } from "vitest";
import { type Injector, type Mutation, injectionMetrics, mutatePod } from "@istiod/injector";
import { MemoryMeter } from "@istiod/metrics/testing";
import { pathVariables } from "../src/webhook-path.js";
import { injectorOf, patched, podOf } from "./injection-fixtures.js";

const answer = (object: unknown, injector: Injector = injectorOf()): Mutation => mutatePod({ object }, injector);

describe("mutatePod", () => {
  it("answers with a patch that only names what changes", () => {
    const pod = { ...podOf(), metadata: { name: "web", managedFields: [{ manager: "kubectl" }] } };
    const mutation = answer(pod);
    if (mutation.outcome !== "injected") throw new Error(mutation.outcome);
    expect(mutation.pod).toBe("Pod web");
    expect(mutation.patch.map(({ path }) => path).sort()).toEqual(
      ["/metadata/annotations", "/spec/containers/1", "/spec/initContainers"].sort(),
    );
    expect(patched(pod, mutation).metadata).toHaveProperty("managedFields");
  });

  it("skips pods by the decision, with the reason", () => {
    const skipped = (pod: object): unknown => answer(pod);
    expect(skipped(podOf({ "sidecar.istio.io/inject": "false" }))).toMatchObject({
      outcome: "skipped",
      reason: "annotation",
    });
    expect(skipped({ metadata: { namespace: "kube-system" } })).toMatchObject({ reason: "system-namespace" });
    const strange = skipped({
      metadata: { labels: { "sidecar.istio.io/inject": "maybe" } },
      spec: { hostNetwork: false },
    });
    expect(strange).toMatchObject({ outcome: "injected", warnings: [expect.stringContaining("maybe")] });
  });

  it("uses the request's namespace for a pod without one", () => {
    const mutation = mutatePod({ object: { metadata: {} }, namespace: "kube-public" }, injectorOf());
    expect(mutation).toMatchObject({ outcome: "skipped", reason: "system-namespace" });
  });

  it.each([
    [undefined, "could not unmarshal raw object"],
    ["text", "could not unmarshal raw object"],
    [[], "could not unmarshal raw object"],
    [{ spec: [] }, "pod.spec: is a list, expected an object"],
    [
      { spec: { containers: [{ name: "a", ports: [{ containerPort: "80" }] }] } },
      "ports[0].containerPort: is a string",
    ],
    [{ metadata: { annotations: { a: 1 } } }, 'pod.metadata.annotations["a"]: is a number, expected a string'],
    [{ spec: { containers: [{ resources: { limits: { cpu: "x" } } }] } }, 'limits["cpu"]: is "x", expected a quantity'],
  ])("refuses %j", (object, message) => {
    expect(answer(object)).toMatchObject({ outcome: "failed", message: expect.stringContaining(message) });
  });

  it("refuses annotations that Kubernetes refuses for their size, before it reads them", () => {
    const userVolume = JSON.stringify(Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`v${i}`, {}])));
    const annotations = { "sidecar.istio.io/userVolume": userVolume, "proxy.istio.io/config": "[".repeat(200_000) };
    expect(answer({ metadata: { annotations } })).toMatchObject({
      outcome: "failed",
      message: expect.stringMatching(/^metadata.annotations: have \d+ bytes, expected 262144 at most$/),
    });
  });

  it("reads keys of objects as keys only", () => {
    const pod = JSON.parse(
      '{"metadata":{"labels":{"__proto__":"x","constructor":"y"}},"spec":{"containers":[]}}',
    ) as object;
    const mutation = answer(pod);
    if (mutation.outcome !== "injected") throw new Error(JSON.stringify(mutation));
    expect(JSON.stringify(mutation.patch)).not.toContain("__proto__");
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it.each([
    ["/inject", {}],
    ["/inject/", {}],
    ["/inject/cluster/a/net/b/", { ISTIO_META_CLUSTER_ID: "a", ISTIO_META_NETWORK: "b" }],
    ["/inject/cluster/a--slash--b/region/eu/odd", { ISTIO_META_CLUSTER_ID: "a/b", REGION: "eu" }],
    ["/inject/:ENV:cluster=a:ENV:x=1=2:ENV:=none", { ISTIO_META_CLUSTER_ID: "a", X: "1=2" }],
  ])("reads variables from %s", (path, variables) => {
    expect(pathVariables(path)).toEqual(variables);
  });
});

describe("metrics of injection", () => {
  it("have Istio's names", () => {
    const meter = new MemoryMeter();
    const metrics = injectionMetrics(meter);
    metrics.received();
    metrics.skipped();
    metrics.failed();
    metrics.answered();
    metrics.took(0.2);
    for (const name of ["requests", "success", "failure", "skip"])
      expect(meter.value(`sidecar_injection_${name}_total`)).toBe(1);
  });
});
