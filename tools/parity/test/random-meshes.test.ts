import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescMessage } from "@bufbuild/protobuf";
import { decode } from "@istiod/config-schema";
import { TrafficExtensionSchema } from "@istiod/istio-api/extensions/v1alpha1/traffic_extension";
import { WasmPluginSchema } from "@istiod/istio-api/extensions/v1alpha1/wasm";
import { MeshConfig_ExtensionProviderSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { EnvoyFilterSchema } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { TelemetrySchema } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { generate } from "../src/generate.js";
import { type RandomMesh, randomMeshes } from "../src/random/mesh.js";
import { writeMeshes } from "../src/random/write-meshes.js";
import { findScenarios, type JsonObject } from "../src/scenario.js";

const sample = (kind: keyof typeof randomMeshes, numRuns: number): RandomMesh[] =>
  fc.sample(randomMeshes[kind], { seed: 1, numRuns });

/** Returns the paths of the fields of a message, down to some depth, that no value has. */
function absentFields(schema: DescMessage, values: readonly unknown[], depth: number): string[] {
  const objects = values.filter(
    (value): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null,
  );
  return schema.fields.flatMap((field) => {
    const found = objects.flatMap((each) => each[field.jsonName] ?? []);
    if (found.length === 0) return [field.jsonName];
    const items = field.fieldKind === "map" ? found.flatMap((map) => Object.values(map as object) as unknown[]) : found;
    const isOwn = field.message?.typeName.startsWith("istio.") === true;
    return isOwn && depth > 0
      ? absentFields(field.message, items, depth - 1).map((path) => `${field.jsonName}.${path}`)
      : [];
  });
}

const specs = (meshes: readonly RandomMesh[], kind: string): unknown[] =>
  meshes.flatMap(({ objects }) =>
    (objects as readonly { readonly kind: string; readonly spec: unknown }[]).flatMap((each) =>
      each.kind === kind ? each.spec : [],
    ),
  );

/** Not written yet, read by nobody, of waypoints, and deprecated. */
const untestedPatchFields = [
  "targetRefs",
  "configPatches.match.listener.filterChain.transportSocket",
  "configPatches.match.waypoint",
  "configPatches.patch.filterClass",
];

describe("random meshes", () => {
  const all = sample("all", 200);

  it.each([
    // A namespace is not allowed, and the singular reference is that of older objects.
    ["Telemetry", TelemetrySchema, specs(all, "Telemetry"), ["targetRef", "targetRefs.namespace"]],
    ["WasmPlugin", WasmPluginSchema, specs(all, "WasmPlugin"), ["targetRef", "targetRefs.namespace"]],
    ["TrafficExtension", TrafficExtensionSchema, specs(all, "TrafficExtension"), ["targetRefs.namespace"]],
    ["EnvoyFilter", EnvoyFilterSchema, specs(sample("patches", 200), "EnvoyFilter"), untestedPatchFields],
  ] as const)("have every field of %s", (_, schema, values, expected) => {
    expect(absentFields(schema, values, 4)).toEqual(expected);
  });

  it("have every kind of extension provider, with every field of those for telemetry", () => {
    const providers = all.flatMap(
      ({ meshConfig }) => (meshConfig as { readonly extensionProviders: object[] }).extensionProviders,
    );
    expect(
      absentFields(MeshConfig_ExtensionProviderSchema, providers, 4).filter(
        (path) => !/^(envoyExtAuthz|stackdriver|opencensus)/.test(path),
      ),
    ).toEqual([]);
  });

  it.each(Object.keys(randomMeshes) as (keyof typeof randomMeshes)[])(
    "of %s have only objects that are accepted",
    (kind) => {
      const refused = sample(kind, 50).flatMap(({ objects }) =>
        objects.flatMap((object) => decode(object as JsonObject)).filter(({ outcome }) => outcome === "rejected"),
      );
      expect(refused).toEqual([]);
    },
  );
});

describe("written meshes", () => {
  let folder = "";
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("are scenarios, with resources of each type", async () => {
    folder = await mkdtemp(join(tmpdir(), "random-meshes-"));
    writeMeshes(folder, "all", { seed: 1, meshes: 10 });
    const scenarios = findScenarios(folder);
    expect(scenarios.map(({ name }) => name)).toContain("all-1-9");
    const types = ["lds", "rds", "cds", "ecds"] as const;
    const counts = { lds: 0, rds: 0, cds: 0, ecds: 0 };
    for (const scenario of scenarios)
      for (const [key, resources] of generate(scenario, types))
        counts[key.split(" ")[1] as keyof typeof counts] += resources.size;
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
  });
});
