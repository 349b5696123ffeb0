import { isDeepStrictEqual } from "node:util";
import { findEnvoy } from "@istiod/envoy-binary";
import { whyNoEnvoy } from "@istiod/e2e";
import { clusterType } from "@istiod/resources";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Acceptance } from "./hostile-objects/acceptance.js";
import { collidingObjects } from "./hostile-objects/colliding-objects.js";
import { gatewayApiMesh, goodVirtualHosts } from "./hostile-objects/gateway-api-mesh.js";
import { young } from "./hostile-objects/hostile-tenants.js";
import { gatewayApiObject } from "./hostile-objects/kinds/gateway-api/gateways.js";
import { gatewayApiRoute } from "./hostile-objects/kinds/gateway-api/routes.js";
import { hostileMesh, isAccepted, proxiesOf, resourcesFor } from "./hostile-objects/mesh.js";
import type { Manifest } from "./hostile-objects/kinds/manifest.js";
import { hostileObject } from "./hostile-objects/objects.js";

const reason = await whyNoEnvoy();

/** Number of meshes; long runs set the variable. */
const cases = Number(process.env["HOSTILE_OBJECT_CASES"] ?? 60);
const seed = Number(process.env["HOSTILE_OBJECT_SEED"] ?? 1);
const batch = 50;

const brief = (objects: readonly Manifest[]): string =>
  JSON.stringify(objects.map(({ kind, metadata, spec }) => [kind, metadata.namespace, spec]))
    .replaceAll(/(.)\1{50,}/g, "$1…")
    .slice(0, 1500);

describe.each([
  {
    kind: "hostile objects that validation accepts",
    objects: fc.array(hostileObject.filter(isAccepted), { minLength: 1, maxLength: 2 }),
  },
  { kind: "objects that collide", objects: collidingObjects },
  {
    kind: "hostile objects of the Gateway API",
    objects: fc.array(fc.oneof(gatewayApiRoute, gatewayApiObject).map(young).filter(isAccepted), {
      minLength: 1,
      maxLength: 4,
    }),
    meshOf: gatewayApiMesh,
    innocent: goodVirtualHosts,
  },
])("$kind", { retry: 0 }, ({ objects: arbitrary, meshOf = hostileMesh, innocent }) => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let acceptance: Acceptance;
  beforeAll(async () => {
    if (reason === undefined) acceptance = await Acceptance.start((await findEnvoy())!);
  }, 60_000);
  afterAll(() => acceptance?.close());

  it(
    "never become resources that Envoy rejects",
    async () => {
      const meshes = fc.sample(arbitrary, { numRuns: cases, seed });
      const proxies = proxiesOf(acceptance.extensions);
      for (const proxy of proxies) acceptance.keep(resourcesFor(meshOf([]).database, proxy).get(clusterType) ?? []);
      const faults: string[] = [];
      const unchanged = innocent?.(resourcesFor(meshOf([]).database, proxies[1]!));
      if (unchanged !== undefined) expect(unchanged).not.toContain("");
      let accepted = 0;
      const settle = async (): Promise<void> => {
        for (const { typeUrl, name, origin, message } of await acceptance.rejections()) {
          faults.push(
            `${typeUrl.split(".").at(-1)} ${name}: ${message.slice(-400)}\n    ${brief(meshOf(meshes[origin] ?? []).accepted)}`,
          );
        }
      };
      for (const [origin, objects] of meshes.entries()) {
        const mesh = meshOf(objects);
        accepted += mesh.accepted.length;
        for (const proxy of proxies) {
          try {
            const generated = resourcesFor(mesh.database, proxy);
            for (const [typeUrl, resources] of generated)
              for (const resource of resources) acceptance.add(typeUrl, resource, origin);
            if (proxy === proxies[1] && !isDeepStrictEqual(innocent?.(generated), unchanged))
              faults.push(`the honest route is changed:\n    ${brief(mesh.accepted)}`);
          } catch (error) {
            faults.push(
              `generation: ${error instanceof Error ? error.stack?.slice(0, 500) : String(error)}\n    ${brief(mesh.accepted)}`,
            );
          }
        }
        if (origin % batch === batch - 1) await settle();
      }
      await settle();
      console.log(
        `${cases} meshes, ${accepted} accepted objects, ${acceptance.size} distinct resources, ${faults.length} rejected`,
      );
      expect(faults).toEqual([]);
    },
    60_000 + cases * 1000,
  );
});
