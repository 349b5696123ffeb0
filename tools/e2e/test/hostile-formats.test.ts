import { applyMeshConfig } from "@istiod/config-schema";
import { whyNoEnvoy } from "@istiod/e2e";
import { findEnvoy } from "@istiod/envoy-binary";
import { clusterType } from "@istiod/resources";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Acceptance } from "./hostile-objects/acceptance.js";
import { formatted, meshSettings } from "./hostile-objects/kinds/format-strings.js";
import { hostileMesh, isAccepted, proxiesOf, resourcesFor } from "./hostile-objects/mesh.js";

const reason = await whyNoEnvoy();

/** Number of meshes; long runs set the variable. */
const cases = Number(process.env["HOSTILE_OBJECT_CASES"] ?? 60);
const seed = Number(process.env["HOSTILE_OBJECT_SEED"] ?? 1);
const batch = 50;

const silent = { warning: () => undefined, error: () => undefined };

/** A policy that uses the external authorizer, so that its headers reach Envoy. */
const customPolicy = {
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "ext", namespace: "shop" },
  spec: { action: "CUSTOM", provider: { name: "authz" }, rules: [{}] },
};

/** The mesh settings that validation accepts: the providers one by one, as operators would add them. */
function acceptedSettings(settings: { readonly extensionProviders: readonly object[] }): object {
  const accepts = (config: object): boolean => applyMeshConfig(config, silent) !== undefined;
  const { extensionProviders, ...format } = settings;
  return {
    ...(accepts(format) ? format : {}),
    extensionProviders: extensionProviders.filter((provider) => accepts({ extensionProviders: [provider] })),
  };
}

describe("formats and expressions that validation accepts, of objects and of the mesh", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let acceptance: Acceptance;
  beforeAll(async () => {
    if (reason === undefined) acceptance = await Acceptance.start((await findEnvoy())!);
  }, 60_000);
  afterAll(() => acceptance?.close());

  it(
    "never become resources that Envoy rejects",
    async () => {
      const objects = fc.array(formatted.filter(isAccepted), { minLength: 1, maxLength: 2 });
      const meshes = fc.sample(fc.tuple(meshSettings.map(acceptedSettings), objects), { numRuns: cases, seed });
      const proxies = proxiesOf(acceptance.extensions);
      for (const proxy of proxies)
        acceptance.keep(resourcesFor(hostileMesh([]).database, proxy).get(clusterType) ?? []);
      const faults: string[] = [];
      const settle = async (): Promise<void> => {
        for (const { typeUrl, name, origin, message } of await acceptance.rejections())
          faults.push(
            `${typeUrl.split(".").at(-1)} ${name}: ${message.slice(-600)}\n    ${JSON.stringify(meshes[origin])}`,
          );
      };
      for (const [origin, [settings, manifests]] of meshes.entries()) {
        const mesh = hostileMesh([...manifests, customPolicy], { mesh: settings });
        for (const proxy of proxies)
          for (const [typeUrl, resources] of resourcesFor(mesh.database, proxy))
            for (const resource of resources) acceptance.add(typeUrl, resource, origin);
        if (origin % batch === batch - 1) await settle();
      }
      await settle();
      console.log(`${cases} meshes, ${acceptance.size} distinct resources, ${faults.length} rejected`);
      expect(faults).toEqual([]);
    },
    60_000 + cases * 1000,
  );
});
