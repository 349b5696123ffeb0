import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "@istiod/envoy-binary";
import {
  type BareEnvoy,
  endpointAsker,
  filterAsker,
  renamed,
  routeAsker,
  startBareEnvoy,
  unbound,
  whyNoEnvoy,
} from "@istiod/e2e";
import { proxyResources } from "@istiod/explain";
import {
  findScenarios,
  generate,
  goldenProxies,
  loadSampleForGolden,
  type Scenario,
  type Type,
  typeUrls,
} from "@istiod/parity";
import { proxyNamed } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();
const folders = ["scenarios", "cases"].map((name) =>
  fileURLToPath(new URL(`../../../../shared/${name}/`, import.meta.url)),
);
const present = folders.filter(existsSync);
const noScenarios =
  present.length === 0 ? "no ../shared/scenarios or ../shared/cases beside this repository" : undefined;

const offeredTypes = ["cds", "eds", "lds", "rds", "ecds"] as const satisfies readonly Type[];

/** A generated resource, and a label that says where it comes from. */
interface LabeledResource {
  readonly resource: Resource;
  readonly label: string;
}

/** Distinct resources by type. */
class Collection {
  readonly #byType = new Map<Type, LabeledResource[]>(offeredTypes.map((type) => [type, []]));
  readonly #seen = new Set<string>();

  of(type: Type): readonly LabeledResource[] {
    return this.#byType.get(type) ?? [];
  }

  add(type: Type, name: string, bytes: Uint8Array, origin: string): void {
    const content = `${type} ${createHash("sha256").update(bytes).digest("base64")}`;
    if (this.#seen.has(content)) return;
    this.#seen.add(content);
    const label = `${this.#seen.size}~${name} of ${origin}`;
    this.#byType.get(type)?.push({ resource: resource(name, bytes), label });
  }
}

const extensionsOfIstiosBuild = [
  "stats.PluginConfig",
  "istio.envoy.config.filter.http.alpn",
  "istio.envoy.config.filter.http.authn",
  "envoy.tcp.metadataexchange",
  "io.istio.http.peer_metadata",
  "io.istio.network",
];

const sources = [
  { source: "the samples", skipReason: reason, collect: collectSamples, atLeast: 15 },
  { source: "the recorded meshes", skipReason: reason ?? noScenarios, collect: collectScenarios, atLeast: 100 },
];

describe.each(sources)("resources generated for a stock Envoy from $source", ({ skipReason, collect, atLeast }) => {
  beforeEach(({ skip }) => skip(skipReason !== undefined, skipReason));
  const collection = new Collection();
  let envoy: BareEnvoy;
  beforeAll(async () => {
    if (skipReason) return;
    envoy = await startBareEnvoy((await findEnvoy())!);
    collect(collection, envoy.extensions);
  }, 600_000);
  afterAll(() => envoy?.close());

  /** Returns the rejections of resources of a type. */
  async function rejections(type: Type, offered: readonly Resource[]): Promise<string[]> {
    const messages = await envoy.offer(typeUrls[type], offered);
    return messages.flatMap(({ message }) => message.split(/\n(?=\d+~)/)).map((line) => line.replaceAll(/\s+/g, " "));
  }
  const withUniqueNames = (type: Type): Resource[] =>
    collection.of(type).map(({ resource: each, label }) => renamed(each, label));
  const clusters = (): Resource[] => collection.of("cds").map(({ resource: each }) => each);

  it("are many distinct ones of each type", () => {
    for (const type of ["cds", "eds", "lds", "rds"] as const)
      expect(collection.of(type).length, type).toBeGreaterThan(atLeast);
  });

  it("name no extension of Istio's own build", () => {
    for (const type of ["lds", "cds", "ecds"] as const)
      for (const { resource: each, label } of collection.of(type)) {
        const text = Buffer.from(each.bytes).toString("latin1");
        expect({
          label,
          names: extensionsOfIstiosBuild.filter((name) => text.includes(`googleapis.com/${name}`)),
        }).toEqual({ label, names: [] });
      }
  });

  it("include only accepted clusters", async () => {
    expect(await rejections("cds", withUniqueNames("cds"))).toEqual([]);
  }, 120_000);

  it("include only accepted endpoints", async () => {
    const offered = withUniqueNames("eds");
    const askers = offered.map(({ name }) => endpointAsker(name));
    expect(await rejections("cds", askers)).toEqual([]);
    expect(await rejections("eds", offered)).toEqual([]);
  }, 120_000);

  it("include only accepted listeners, with the clusters that these name", async () => {
    expect(await rejections("cds", clusters())).toEqual([]);
    const offered = collection.of("lds").map(({ resource: each, label }, n) => unbound(each, label, n + 1));
    expect(await rejections("lds", offered)).toEqual([]);
  }, 120_000);

  it("include only accepted route configurations", async () => {
    const offered = withUniqueNames("rds");
    const askers = offered.map(({ name }, n) => routeAsker(name, n + 1));
    expect(await rejections("lds", askers)).toEqual([]);
    expect(await rejections("rds", offered)).toEqual([]);
  }, 120_000);

  it("include only accepted extension configurations", async () => {
    const byName = new Map(collection.of("ecds").map(({ resource: each }) => [each.name, each]));
    const offered = [...byName.values()];
    if (offered.length === 0) return;
    const askers = offered.map((each, n) => filterAsker(each, n + 1));
    expect(await rejections("lds", askers)).toEqual([]);
    expect(await rejections("ecds", offered)).toEqual([]);
  }, 120_000);
});

function collectSamples(collection: Collection, extensions: readonly string[]): void {
  for (const [sample, proxies] of Object.entries(goldenProxies)) {
    const database = loadSampleForGolden(sample);
    for (const name of proxies) {
      const resources = proxyResources(database, { ...proxyNamed(database, name), extensions });
      for (const type of offeredTypes)
        for (const { name: resourceName, bytes } of resources.get(typeUrls[type]) ?? [])
          collection.add(type, resourceName, bytes, `${sample} ${name}`);
    }
  }
}

function collectScenarios(collection: Collection, extensions: readonly string[]): void {
  for (const folder of present)
    for (const scenario of findScenarios(folder)) collectScenario(collection, scenario, extensions);
}

function collectScenario(collection: Collection, scenario: Scenario, extensions: readonly string[]): void {
  for (const [key, resources] of generate(scenario, offeredTypes, extensions)) {
    const type = key.split(" ").at(-1) as Type;
    for (const [name, bytes] of resources) collection.add(type, name, bytes, `${scenario.name} ${key}`);
  }
}
