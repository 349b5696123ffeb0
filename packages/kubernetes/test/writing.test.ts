import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it } from "vitest";
import {
  applyIfChanged,
  applyObject,
  createObject,
  deleteObject,
  isApplied,
  type KubernetesObject,
  patchObject,
  retryOnConflict,
  updateObject,
  withRetries,
} from "@istiod/kubernetes";
import { failure, FakeApiClient, settle } from "./fake-client.js";

const services = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const classes = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "GatewayClass",
  plural: "gatewayclasses",
  namespaced: false,
};
const cart = { metadata: { namespace: "shop", name: "cart" } };

describe("writes", () => {
  it("are the requests of the Kubernetes API", async () => {
    const client = new FakeApiClient(({ body }) => body ?? {});
    const versioned = { metadata: { ...cart.metadata, resourceVersion: "7" } };
    await createObject(client, services, cart, { fieldManager: "m", dryRun: true });
    await createObject(client, services, { metadata: { namespace: "shop", generateName: "cart-" } });
    await updateObject(client, services, versioned, { subresource: "status" });
    await applyObject(client, classes, { metadata: { name: "istio" } }, { fieldManager: "m", force: true });
    await patchObject(client, services, cart.metadata, { json: [{ op: "remove", path: "/spec" }] });
    await patchObject(client, services, cart.metadata, { merge: { spec: null } }, { fieldValidation: "Warn" });
    await deleteObject(client, services, cart.metadata, { uid: "u", propagationPolicy: "Foreground" });

    const path = "/api/v1/namespaces/shop/services";
    const strict = { fieldValidation: "Strict" };
    const service = { apiVersion: "v1", kind: "Service" };
    expect(client.requests).toEqual([
      { method: "POST", path, query: { ...strict, fieldManager: "m", dryRun: "All" }, body: { ...cart, ...service } },
      {
        method: "POST",
        path,
        query: strict,
        body: { metadata: { namespace: "shop", generateName: "cart-" }, ...service },
      },
      { method: "PUT", path: `${path}/cart/status`, query: strict, body: { ...versioned, ...service } },
      {
        method: "PATCH",
        path: "/apis/gateway.networking.k8s.io/v1/gatewayclasses/istio",
        query: { ...strict, fieldManager: "m", force: true },
        contentType: "application/apply-patch+yaml",
        body: {
          metadata: { name: "istio" },
          apiVersion: "gateway.networking.k8s.io/v1",
          kind: "GatewayClass",
        },
      },
      {
        method: "PATCH",
        path: `${path}/cart`,
        query: strict,
        contentType: "application/json-patch+json",
        body: [{ op: "remove", path: "/spec" }],
      },
      {
        method: "PATCH",
        path: `${path}/cart`,
        query: { fieldValidation: "Warn" },
        contentType: "application/merge-patch+json",
        body: { spec: null },
      },
      {
        method: "DELETE",
        path: `${path}/cart`,
        body: {
          apiVersion: "v1",
          kind: "DeleteOptions",
          preconditions: { uid: "u" },
          propagationPolicy: "Foreground",
        },
      },
    ]);
  });

  it.each<[string, KubernetesObject, string]>([
    ["has no name", { metadata: { namespace: "shop" } }, "Service shop/without a name: metadata.name is required"],
    ["has no namespace", { metadata: { name: "cart" } }, "Service cart: metadata.namespace is required"],
    ["is of another kind", { ...cart, kind: "Pod" }, "Service shop/cart: kind is Pod, expected Service"],
    ["is of another version", { ...cart, apiVersion: "v2" }, "Service shop/cart: apiVersion is v2, expected v1"],
  ])("fail without a request if the object %s", async (_, object, message) => {
    const client = new FakeApiClient(() => ({}));
    await expect(applyObject(client, services, object, { fieldManager: "m" })).rejects.toMatchObject({
      code: "invalid",
      message,
    });
    expect(client.requests).toEqual([]);
  });

  it("need a version to update, and no namespace for cluster-scoped types", async () => {
    const client = new FakeApiClient(() => ({}));
    await expect(updateObject(client, services, cart)).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("metadata.resourceVersion is required"),
    });
    await expect(deleteObject(client, classes, { namespace: "shop", name: "x" })).rejects.toMatchObject({
      message: "GatewayClass shop/x: metadata.namespace is set, but the type has none",
    });
  });
});

describe("retries", () => {
  const random = (): number => 1;

  it("wait for the backoff, or for Retry-After and the backoff", async () => {
    const clock = new FakeClock();
    const waits: number[] = [];
    const errors = [failure.unavailable(), failure.network(), failure.tooMany(3000)];
    let attempts = 0;
    const done = withRetries(
      async () => {
        const error = errors[attempts++];
        if (error) throw error;
        return "written";
      },
      { clock, random },
    );
    while (attempts <= errors.length) {
      await settle(2);
      const [wait] = clock.pending;
      if (wait === undefined) break;
      waits.push(wait);
      clock.advance(wait);
    }
    expect(await done).toBe("written");
    expect(waits).toEqual([200, 400, 3800]);
  });

  it("end after the attempts, at the deadline, and when the signal is aborted", async () => {
    const clock = new FakeClock();
    let attempts = 0;
    const failing = async (): Promise<never> => {
      attempts++;
      throw failure.unavailable();
    };
    const ended = withRetries(failing, { clock, attempts: 3 }).catch((error: Error) => error);
    for (let turn = 0; turn < 10; turn++) {
      await settle(2);
      clock.advance(60_000 / 10);
    }
    expect(await ended).toMatchObject({ code: "unavailable" });
    expect(attempts).toBe(3);

    await expect(
      withRetries(
        async () => {
          throw failure.tooMany(61_000);
        },
        { clock },
      ),
    ).rejects.toMatchObject({ code: "too-many-requests" });

    const controller = new AbortController();
    const aborted = withRetries(failing, { clock, signal: controller.signal }).catch((error: Error) => error);
    await settle(2);
    controller.abort();
    expect(await aborted).toMatchObject({ code: "aborted" });
    expect(clock.pending).toEqual([]);
  });

  it.each([failure.forbidden(), failure.conflict(), failure.notFound()])("do not repeat $code", async (error) => {
    let attempts = 0;
    const failing = async (): Promise<never> => {
      attempts++;
      throw error;
    };
    await expect(withRetries(failing)).rejects.toBe(error);
    expect(attempts).toBe(1);
  });

  it("read the object again after a conflict", async () => {
    const clock = new FakeClock();
    let version = 1;
    const written: number[] = [];
    const done = retryOnConflict(
      {
        read: async () => version,
        write: async (current) => {
          written.push(current);
          if (written.length < 3) {
            version++;
            throw failure.conflict();
          }
          return current;
        },
      },
      { clock },
    );
    for (let turn = 0; turn < 5; turn++) {
      await settle(2);
      clock.advance(1000);
    }
    expect(await done).toBe(3);
    expect(written).toEqual([1, 2, 3]);
  });
});

describe("an apply without effect", () => {
  const desired = {
    metadata: { namespace: "shop", name: "cart", labels: { app: "cart" } },
    spec: { ports: [{ port: 80, protocol: "TCP", name: "http" }], selector: { app: "cart" }, externalIPs: ["1.2.3.4"] },
  };
  /** As a server stores it: with fields of other managers and defaults. */
  const observed = {
    metadata: {
      ...desired.metadata,
      labels: { app: "cart", team: "a" },
      resourceVersion: "9",
      managedFields: [
        { manager: "kubectl", operation: "Update", fieldsV1: { "f:spec": {} } },
        {
          manager: "istiod",
          operation: "Apply",
          fieldsV1: {
            "f:metadata": { "f:labels": { "f:app": {} } },
            "f:spec": {
              "f:externalIPs": { 'v:"1.2.3.4"': {} },
              "f:ports": {
                'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {} },
              },
              "f:selector": {},
            },
          },
        },
      ],
    },
    spec: {
      clusterIP: "10.0.0.1",
      externalIPs: ["4.3.2.1", "1.2.3.4"],
      ports: [
        { port: 443, protocol: "TCP", targetPort: 443 },
        { port: 80, protocol: "TCP", name: "http", targetPort: 80 },
      ],
      selector: { app: "cart" },
    },
  };
  const by = { fieldManager: "istiod" };

  it("is not sent", async () => {
    const client = new FakeApiClient(() => desired);
    expect(await applyIfChanged(client, services, desired, observed, by)).toBeUndefined();
    expect(client.requests).toEqual([]);
    expect(await applyIfChanged(client, services, desired, undefined, by)).toBe(desired);
    expect(client.requests).toHaveLength(1);
  });

  it.each<[string, KubernetesObject]>([
    ["a value differs", { ...desired, metadata: { ...desired.metadata, labels: { app: "x" } } } as KubernetesObject],
    ["a field is added", { ...desired, spec: { ...desired.spec, type: "ClusterIP" } } as KubernetesObject],
    ["a field is removed", { metadata: desired.metadata, spec: { ports: desired.spec.ports } } as KubernetesObject],
    ["an item is removed", { ...desired, spec: { ...desired.spec, ports: [] } } as KubernetesObject],
    ["an item differs", { ...desired, spec: { ...desired.spec, externalIPs: ["1.2.3.5"] } } as KubernetesObject],
    ["an atomic map differs", { ...desired, spec: { ...desired.spec, selector: {} } } as KubernetesObject],
  ])("is not assumed if %s", (_, changed) => {
    expect(isApplied(changed, observed, by)).toBe(false);
  });

  it("is not sent if the server has added fields that are keys of list items", async () => {
    const ports = [
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "dns-tcp", port: 53 },
    ];
    const serviceOf = (...list: readonly object[]) => ({ ...cart, spec: { ports: list } });
    const key = (protocol: string): string => `k:{"port":53,"protocol":"${protocol}"}`;
    const item = { ".": {}, "f:name": {}, "f:port": {} };
    const withFields = (fields: object) => ({
      metadata: {
        ...cart.metadata,
        managedFields: [{ manager: "istiod", operation: "Apply", fieldsV1: { "f:spec": { "f:ports": fields } } }],
      },
      spec: { ports: [ports[0], { ...ports[1], protocol: "TCP" }] },
    });
    const served = withFields({ [key("TCP")]: item, [key("UDP")]: { ...item, "f:protocol": {} } });
    expect(isApplied(serviceOf(...ports), served, by)).toBe(true);
    expect(isApplied(serviceOf(ports[0]!, { ...ports[1], name: "x" }), served, by)).toBe(false);
    // A protocol that the manager has applied before is its field, which a new apply would remove.
    const owned = withFields({
      [key("TCP")]: { ...item, "f:protocol": {} },
      [key("UDP")]: { ...item, "f:protocol": {} },
    });
    expect(isApplied(serviceOf(...ports), owned, by)).toBe(false);
    // One item stands for one key only.
    const twice = withFields({ [key("TCP")]: item, [key("UDP")]: item });
    const same = { name: "dns", port: 53 };
    const observed53 = { ...twice, spec: { ports: ["TCP", "UDP"].map((protocol) => ({ ...same, protocol })) } };
    expect(isApplied(serviceOf(same, { name: "other", port: 54 }), observed53, by)).toBe(false);
  });

  it("is not sent if the server has omitted empty values", () => {
    const fields = { "f:metadata": { "f:annotations": {} }, "f:spec": { "f:type": {} } };
    const served = {
      metadata: { ...cart.metadata, managedFields: [{ manager: "istiod", operation: "Apply", fieldsV1: fields }] },
    };
    const appliedOf = (annotations: object, type: string) => ({
      metadata: { ...cart.metadata, annotations },
      spec: { type },
    });
    expect(isApplied(appliedOf({}, "") as KubernetesObject, { ...served, spec: {} } as KubernetesObject, by)).toBe(
      true,
    );
    expect(
      isApplied(appliedOf({ a: "" }, "") as KubernetesObject, { ...served, spec: {} } as KubernetesObject, by),
    ).toBe(false);
    expect(isApplied(appliedOf({}, "x") as KubernetesObject, { ...served, spec: {} } as KubernetesObject, by)).toBe(
      false,
    );
  });

  it("is not assumed if others have changed a value, or the manager has not applied the object", () => {
    const changed = { ...observed, spec: { ...observed.spec, selector: { app: "other" } } };
    expect(isApplied(desired, changed, by)).toBe(false);
    expect(isApplied(desired, observed, { fieldManager: "other" })).toBe(false);
    expect(isApplied(desired, observed, { ...by, subresource: "status" })).toBe(false);
    expect(isApplied(desired, desired, by)).toBe(false);
  });
});
