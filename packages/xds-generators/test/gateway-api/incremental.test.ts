import { mint } from "@istiod/ca/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TestMesh } from "../mesh.js";
import { gatewayMesh, gatewayMeshProxies } from "./gateway-mesh.js";
import { randomObjects } from "./random-objects.js";

const types = [
  "envoy.config.cluster.v3.Cluster",
  "envoy.config.listener.v3.Listener",
  "envoy.config.route.v3.RouteConfiguration",
];

const { pem, keyPem } = await mint({ ca: true });
const base = gatewayMesh({ certificate: pem, key: keyPem });

const changes = fc.array(fc.tuple(randomObjects, fc.infiniteStream(fc.boolean())), { minLength: 2, maxLength: 4 });

function state(of: TestMesh): readonly (readonly string[])[] {
  return gatewayMeshProxies.flatMap((options) => {
    const proxy = of.proxy(options);
    return types.map((type) => [...proxy.set(type)].map(({ name, version }) => `${name} ${version}`));
  });
}

/** Returns the documents of a text by kind, namespace and name. */
function documentsOf(yaml: string): Map<string, string> {
  const texts = yaml.split("---\n").filter((text) => text !== "");
  return new Map(
    texts.map((text) => {
      const { kind, metadata } = JSON.parse(text) as { kind: string; metadata: { namespace: string; name: string } };
      return [`${kind}/${metadata.namespace}/${metadata.name}`, `---\n${text}`];
    }),
  );
}

const runs = Number(process.env["GATEWAY_API_CASES"] ?? 8);
const seed = process.env["GATEWAY_API_SEED"];

it(
  "what routes and gateways become after random edits equals that of a mesh built from scratch",
  { timeout: 120_000 + runs * 1000 },
  () => {
    fc.assert(
      fc.property(changes, (edits) => {
        const incremental = new TestMesh(base);
        state(incremental);
        const current = new Map<string, string>();
        for (const [applied, removals] of edits) {
          for (const [key, document] of [...current]) {
            if (removals.next().value) continue;
            incremental.remove(document);
            current.delete(key);
          }
          incremental.apply(applied);
          for (const [key, document] of documentsOf(applied)) current.set(key, document);
          expect(state(incremental)).toEqual(state(new TestMesh(base + [...current.values()].join(""))));
        }
      }),
      { numRuns: runs, endOnFailure: true, ...(seed !== undefined && { seed: Number(seed) }) },
    );
  },
);
