import { mint } from "@istiod/ca/testing";
import { gatewayMesh, gatewayMeshProxies, type MeshObject, randomObjects, toYaml } from "@istiod/gateway-api/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TestMesh } from "../mesh.js";

const types = [
  "envoy.config.cluster.v3.Cluster",
  "envoy.config.listener.v3.Listener",
  "envoy.config.route.v3.RouteConfiguration",
];

const { pem, keyPem } = await mint({ ca: true });
const base = toYaml(gatewayMesh({ certificate: pem, key: keyPem, root: pem }));

const changes = fc.array(fc.tuple(randomObjects, fc.infiniteStream(fc.boolean())), { minLength: 2, maxLength: 4 });

function state(of: TestMesh): readonly (readonly string[])[] {
  return gatewayMeshProxies.flatMap((options) => {
    const proxy = of.proxy(options);
    return types.map((type) => [...proxy.set(type)].map(({ name, version }) => `${name} ${version}`));
  });
}

const keyOf = ({ kind, metadata }: MeshObject): string => `${kind}/${metadata.namespace}/${metadata.name}`;

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
        const current = new Map<string, MeshObject>();
        for (const [applied, removals] of edits) {
          for (const [key, object] of [...current]) {
            if (removals.next().value) continue;
            incremental.remove(toYaml([object]));
            current.delete(key);
          }
          incremental.apply(toYaml(applied));
          for (const object of applied) current.set(keyOf(object), object);
          expect(state(incremental)).toEqual(state(new TestMesh(base + toYaml([...current.values()]))));
        }
      }),
      { numRuns: runs, endOnFailure: true, ...(seed !== undefined && { seed: Number(seed) }) },
    );
  },
);
