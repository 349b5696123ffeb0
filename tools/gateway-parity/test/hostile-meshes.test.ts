import { describe, expect, it } from "vitest";
import { hostileMeshes } from "../src/hostile/hostile-meshes.js";
import { OwnMesh } from "../src/own-mesh.js";
import type { StoredObject } from "../src/api-objects.js";

const meshes = hostileMeshes(20);

describe.each(meshes)("the mesh $name", ({ objects }) => {
  it("has each object once, which the API's limits allow", () => {
    const keys = objects.map(({ kind, metadata: { namespace, name } }) => `${kind} ${namespace}/${name}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { kind, spec } of objects) {
      const { parentRefs = [], listeners = [] } = spec as { parentRefs?: object[]; listeners?: { name: string }[] };
      expect(parentRefs.length, kind).toBeLessThanOrEqual(32);
      expect(listeners.length, kind).toBeLessThanOrEqual(64);
      expect(new Set(listeners.map(({ name }) => name)).size).toBe(listeners.length);
    }
  });

  it("leaves the innocent route accepted", () => {
    const namespaces = ["shop", "payments", "infra"].map((name) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
    }));
    const gatewayClass = {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: "istio" },
      spec: { controllerName: "istio.io/gateway-controller" },
    };
    const own = new OwnMesh([...namespaces, gatewayClass, ...objects] as readonly StoredObject[], {});
    const status = own.statuses().get("HTTPRoute shop/innocent");
    expect(status?.parents?.[0]?.conditions).toContainEqual(
      expect.objectContaining({ type: "Accepted", status: "True" }),
    );
  });
});

it("each mesh has a name of its own", () => {
  expect(new Set(meshes.map(({ name }) => name)).size).toBe(meshes.length);
});
