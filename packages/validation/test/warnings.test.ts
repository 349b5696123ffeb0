import type { AdmissionRequest } from "@istiod/admission";
import { type AcceptedObject, warningWebhook } from "@istiod/validation";
import { expect, test } from "vitest";

const context = { url: new URL("http://x"), signal: new AbortController().signal };

/** Returns the answer of the webhook about a write, and the objects that it asked about. */
async function review(
  request: object,
  warnings: () => Promise<readonly string[]> = () => Promise.resolve(["careful"]),
) {
  const asked: AcceptedObject[] = [];
  const admit = warningWebhook({ furtherWarnings: (accepted) => (asked.push(accepted), warnings()) });
  const answer = await admit(
    { operation: "CREATE", namespace: "shop", ...request } as unknown as AdmissionRequest,
    context,
  );
  return { answer, asked: asked.map(({ kind, key }) => `${kind.kind} ${key}`) };
}

const pod = (metadata: object = {}, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", ...metadata },
  spec: { containers: [{ name: "a" }] },
  ...fields,
});

test("an object is allowed with warnings, in the namespace of the request and with a generated name", async () => {
  expect(await review({ object: pod() })).toEqual({
    answer: { allowed: true, warnings: ["careful"] },
    asked: ["Pod Kubernetes/shop/a"],
  });
  expect((await review({ object: pod({ name: "", generateName: "a-" }) })).asked).toEqual([
    "Pod Kubernetes/shop/a-xxxxx",
  ]);
  const kinds = [
    ["v1", "Service"],
    ["apps/v1", "Deployment"],
    ["batch/v1", "CronJob"],
    ["networking.k8s.io/v1", "Ingress"],
    ["gateway.networking.k8s.io/v1", "GatewayClass"],
  ];
  for (const [apiVersion, kind] of kinds) {
    const object = { ...pod(), apiVersion, kind, spec: { controllerName: "istio.io/gateway-controller" } };
    expect((await review({ object })).asked).toHaveLength(1);
  }
});

test("nothing is rejected: no unknown or unreadable object, no failure of what warns", async () => {
  const allowed = { answer: { allowed: true }, asked: [] };
  expect(await review({ object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } } })).toEqual(allowed);
  expect(await review({ object: { kind: 3 } })).toMatchObject({ answer: { allowed: true }, asked: [] });
  expect(await review({ object: { ...pod(), spec: "none" } })).toMatchObject({ answer: { allowed: true }, asked: [] });
  expect(await review({ operation: "UPDATE" })).toEqual(allowed);
  expect(await review({ operation: "DELETE", oldObject: pod() })).toEqual(allowed);
  const failed = await review({ object: pod() }, () => Promise.reject(new Error("no")));
  expect(failed.answer).toEqual({ allowed: true });
});

test("faults of what the mesh cannot read are warnings, as are its own, in addition to those of the mesh", async () => {
  const route = (spec: object) => ({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "a" },
    spec: { parentRefs: [{ name: "front" }], ...spec },
  });
  const path = { type: "PathPrefix", value: "/api/*" };
  const starred = await review({ object: route({ rules: [{ matches: [{ path }] }] }) });
  expect(starred.answer).toEqual({
    allowed: true,
    warnings: [expect.stringMatching(/^rules\[0\]\.matches\[0\]\.path\.value: is "\/api\/\*", whose \*/), "careful"],
  });
  const timeouts = { request: "1s", backendRequest: "2s" };
  const rejected = await review({ object: route({ rules: [{ timeouts }] }) });
  expect(rejected).toEqual({
    answer: { allowed: true, warnings: [expect.stringMatching(/^rules\[0\]\.timeouts\.backendRequest: is "2s"/)] },
    asked: [],
  });
});

test("Pods of other objects are left out, and updates of what the mesh does not read", async () => {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "a", uid: "1" };
  expect((await review({ object: pod({ ownerReferences: [owner] }) })).asked).toEqual([]);
  const update = (before: object, after: object) => review({ operation: "UPDATE", object: after, oldObject: before });
  const annotated = pod({ annotations: { "deployment.kubernetes.io/revision": "2" }, resourceVersion: "7" });
  expect((await update(pod(), annotated)).asked).toEqual([]);
  expect((await update(pod(), pod({}, { status: { phase: "Running" } }))).asked).toEqual([]);
  expect((await update(pod(), pod({ labels: { "sidecar.istio.io/inject": "yes" } }))).asked).toHaveLength(1);
});
