import { describe, expect, test } from "vitest";
import { type Document, fileOf, objects, text } from "./every-kind.js";
import { Mesh, variants } from "./mesh.js";

/** Everything that Kubernetes, `kubectl`, Helm and Argo write beside what somebody meant. */
function touched(document: Document): Document {
  const { metadata, status } = document;
  const annotations = {
    ...metadata.annotations,
    "kubectl.kubernetes.io/last-applied-configuration": text(document),
    "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
    "meta.helm.sh/release-name": "shop",
    "argocd.argoproj.io/tracking-id": "shop:x",
    "deployment.kubernetes.io/revision": "7",
    "example.com/owner": "me",
  };
  return {
    ...document,
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": "shop-1.2.3",
        "example.com/team": "t",
        touched: "yes",
      },
      annotations,
      uid: "8e2e2ac5-6d3b-4c6a-9d3e-1f7a6f1b0a11",
      resourceVersion: "987654",
      generation: 12,
      selfLink: "/x",
      finalizers: ["example.com/wait"],
      managedFields: [{ manager: "kubectl", operation: "Apply", fieldsV1: { "f:spec": {} } }],
    } as Document["metadata"],
    ...(document.kind !== "WorkloadEntry" && {
      status: {
        ...(status as object | undefined),
        observedGeneration: 12,
        conditions: [
          ...(((status as { conditions?: unknown[] } | undefined)?.conditions ?? []) as unknown[]),
          { type: "Programmed", status: "True" },
        ],
      },
    }),
  };
}

describe.each(variants)("an edit of metadata only, by %s", (variant) => {
  test(
    "sends nothing to anybody, of whichever kind the object is, unless Istio reads it",
    { timeout: 120_000 },
    async () => {
      const mesh = await Mesh.start(
        variant,
        Object.fromEntries(objects.map((document) => [fileOf(document), text(document)])),
      );
      const also = { "type.googleapis.com/istio.networking.nds.v1.NameTable": [] };
      const proxies = [
        await mesh.proxy("web.shop", "10.0.1.2", { also }),
        await mesh.proxy("gate.shop", "10.0.1.3", { also, type: "router" }),
      ];
      expect(mesh.errors).toEqual([]);
      const answered: Record<string, unknown> = {};
      for (const document of objects) {
        const before = proxies.map(({ xds }) => xds.responses.length);
        const received = await mesh.edit({ [fileOf(document)]: text(touched(document)) });
        const responses = proxies
          .flatMap(({ xds }, i) =>
            xds.responses.slice(before[i]).filter(({ typeUrl }) => !typeUrl.startsWith("fence/")),
          )
          .map(({ typeUrl }) => typeUrl);
        if (responses.length > 0) answered[fileOf(document)] = { received, responses };
      }
      expect(answered).toEqual({});
      const hidden = {
        ...touched(objects[2]!),
        metadata: { ...touched(objects[2]!).metadata, annotations: { "networking.istio.io/exportTo": "~" } },
      };
      expect(Object.keys(await mesh.edit({ [fileOf(hidden)]: text(hidden) }))).toContain("web.shop");
    },
  );
});
