import { whyNoEnvoy } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { clusterType, listenerType } from "@istiod/resources";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Acceptance } from "./hostile-objects/acceptance.js";
import { goodTenants, harmDone, tenantConfig } from "./hostile-objects/good-tenants.js";
import { hostileTenants } from "./hostile-objects/hostile-tenants.js";
import type { Manifest } from "./hostile-objects/kinds/manifest.js";
import { ChangingMesh, hostileMesh, type HostileMesh, proxiesOf, resourcesFor } from "./hostile-objects/mesh.js";
import { goodSharers, hostileSharers, rootFilters } from "./hostile-objects/shared-listeners.js";

const reason = await whyNoEnvoy();

/** Number of combinations; long runs set the variable. */
const cases = Number(process.env["HOSTILE_TENANT_CASES"] ?? 60);
const seed = Number(process.env["HOSTILE_TENANT_SEED"] ?? 1);
const batch = 50;

const shared = (objects: readonly Manifest[]): HostileMesh => hostileMesh(objects, { honest: goodTenants });
const brief = ({ accepted }: HostileMesh): string =>
  accepted
    .map(
      (manifest) =>
        `\n    ${JSON.stringify(manifest)
          .replaceAll(/(.)\1{50,}/g, "$1…")
          .slice(0, 1000)}`,
    )
    .join("");

describe("tenants of one gateway", { retry: 0 }, () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let acceptance: Acceptance;
  beforeAll(async () => {
    if (reason === undefined) acceptance = await Acceptance.start((await findEnvoy())!);
  }, 60_000);
  afterAll(() => acceptance?.close());

  it(
    "harm neither its listeners, nor the servers, routes and clusters of older tenants",
    async () => {
      const [, gateway] = proxiesOf(acceptance.extensions);
      const alone = resourcesFor(shared([]).database, gateway!);
      acceptance.keep(alone.get(clusterType) ?? []);
      const before = tenantConfig(alone);
      expect([...before.chains.keys()].sort()).toEqual([
        "0.0.0.0_443 calm.example.com",
        "0.0.0.0_443 good.example.com",
        "0.0.0.0_443 pass.example.com",
        "0.0.0.0_80 ",
      ]);
      expect([...before.virtualHosts.keys()].sort()).toEqual([
        "http.80 calm.example.com",
        "http.80 entry.example.com",
        "http.80 good.example.com",
        "https.443.https.edge.calm calm.example.com",
        "https.443.https.edge.istio-system good.example.com",
      ]);
      expect(before.clusters.size).toBe(6);

      const meshes = fc.sample(hostileTenants, { numRuns: cases, seed });
      const faults: string[] = [];
      let listeners = 0;
      const settle = async (): Promise<void> => {
        for (const { typeUrl, name, origin, message } of await acceptance.rejections())
          faults.push(
            `${typeUrl.split(".").at(-1)} ${name}: ${message.slice(-400)}${brief(shared(meshes[origin] ?? []))}`,
          );
      };
      for (const [origin, objects] of meshes.entries()) {
        const mesh = shared(objects);
        const resources = resourcesFor(mesh.database, gateway!);
        for (const harm of harmDone(before, tenantConfig(resources))) faults.push(harm + brief(mesh));
        for (const [typeUrl, each] of resources) for (const resource of each) acceptance.add(typeUrl, resource, origin);
        listeners += resources.get(listenerType)?.length ?? 0;
        if (origin % batch === batch - 1) await settle();
      }
      await settle();
      console.log(
        `${cases} combinations, ${listeners} listeners, ${acceptance.size} distinct resources, ${faults.length} faults`,
      );
      expect(faults).toEqual([]);
    },
    60_000 + cases * 1000,
  );

  it(
    "of both APIs harm nobody who shares its listeners, whatever EnvoyFilters the root namespace has",
    async () => {
      const [, gateway] = proxiesOf(acceptance.extensions);
      const mesh = new ChangingMesh(goodSharers);
      const resourcesOf = (filters: number, objects: readonly Manifest[]): ReturnType<typeof resourcesFor> => {
        mesh.replace([...rootFilters[filters]!, ...objects]);
        return resourcesFor(mesh.database, gateway!);
      };
      const alone = rootFilters.map((_, n) => tenantConfig(resourcesOf(n, [])));
      const [before] = alone;
      for (const host of ["route.example.com", "set.example.com"]) {
        expect([...before!.chains.keys()]).toContain(`0.0.0.0_443 ${host}`);
        expect([...before!.virtualHosts.keys()]).toContain(`http.80 ${host}`);
      }
      // Each of the filters changes something.
      const contents = rootFilters.map((_, n) =>
        [...resourcesOf(n, []).values()].flat().map(({ bytes }) => Buffer.from(bytes).toString("base64")),
      );
      for (const content of contents.slice(1)) expect(content).not.toEqual(contents[0]);

      const combinations = fc.sample(hostileSharers, { numRuns: cases, seed });
      const faults: string[] = [];
      const told = (n: number): string => brief({ database: mesh.database, accepted: combinations[n]![1] });
      const settle = async (): Promise<void> => {
        for (const { typeUrl, name, origin, message } of await acceptance.rejections())
          faults.push(`${typeUrl.split(".").at(-1)} ${name}: ${message.slice(-400)}${told(origin)}`);
      };
      for (const [n, [filters, objects]] of combinations.entries()) {
        const resources = resourcesOf(filters, objects);
        for (const harm of harmDone(alone[filters]!, tenantConfig(resources))) faults.push(harm + told(n));
        for (const [typeUrl, each] of resources) for (const resource of each) acceptance.add(typeUrl, resource, n);
        if (n % batch === batch - 1) await settle();
      }
      await settle();
      console.log(`${cases} combinations of both APIs, ${acceptance.size} distinct resources, ${faults.length} faults`);
      expect(faults).toEqual([]);
    },
    60_000 + cases * 1000,
  );
});
