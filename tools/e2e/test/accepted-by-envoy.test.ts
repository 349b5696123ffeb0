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
import { findScenarios, generate, type Scenario, type Type, typeUrls } from "@istiod/parity";
import { type Resource, resource } from "@istiod/resources";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const folders = ["scenarios", "cases"].map((name) =>
  fileURLToPath(new URL(`../../../../shared/${name}/`, import.meta.url)),
);
const present = folders.filter(existsSync);
const reason =
  (await whyNoEnvoy()) ??
  (present.length === 0 ? "no ../shared/scenarios or ../shared/cases beside this repository" : undefined);

/** Each stands so in what the original gives, and Envoy refuses it there too. */
const refusedOfOriginal: readonly { readonly from: string; readonly because: string }[] = [
  { from: "core/TestGatewayConflicts__duplicate_tls_gateway", because: "has the same matching rules" },
  {
    from: "core/TestGatewayExternalSDSProvider__external_SDS_provider_with_MUTUAL_TLS",
    because: "SdsSecretConfigValidationError.Name",
  },
  {
    from: "core/TestGatewayExternalSDSProvider__external_SDS_provider_with_SIMPLE_TLS",
    because: "SdsSecretConfigValidationError.Name",
  },
  {
    from: "core/TestInboundNetworkFilterStatPrefix__service_only_pattern",
    because: "TcpProxyValidationError.StatPrefix",
  },
];

/** A resource by a name that says where it is from. */
interface Made {
  readonly resource: Resource;
  readonly label: string;
}

describe("what is generated for a stock Envoy", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const made = new Map<Type, Made[]>();
  let envoy: BareEnvoy;
  beforeAll(async () => {
    if (reason) return;
    envoy = await startBareEnvoy((await findEnvoy())!);
    const scenarios = present.flatMap((folder) => findScenarios(folder));
    for (const type of ["cds", "eds", "lds", "rds", "ecds"] as const) made.set(type, []);
    const seen = new Set<string>();
    for (const scenario of scenarios) collect(scenario, envoy.extensions, seen, made);
  }, 600_000);
  afterAll(() => envoy?.close());

  /** What Envoy says to resources of a type, each by a name of its own, less what the original has wrong too. */
  async function refusals(type: Type, offered: readonly Resource[]): Promise<string[]> {
    const messages = await envoy.offer(typeUrls[type], offered);
    const lines = messages
      .flatMap(({ message }) => message.split(/\n(?=\d+~)/))
      .map((line) => line.replaceAll(/\s+/g, " "));
    return lines.filter(
      (line) => !refusedOfOriginal.some(({ from, because }) => line.includes(from) && line.includes(because)),
    );
  }
  const all = (type: Type): readonly Made[] => made.get(type) ?? [];
  const own = (type: Type): Resource[] => all(type).map((m) => renamed(m.resource, m.label));

  it("is what the recorded situations give: hundreds of distinct resources", () => {
    for (const type of ["cds", "eds", "lds", "rds"] as const) expect(all(type).length).toBeGreaterThan(100);
  });

  it("names no extension of Istio's own build", () => {
    const istios = [
      "stats.PluginConfig",
      "istio.envoy.config.filter.http.alpn",
      "istio.envoy.config.filter.http.authn",
      "envoy.tcp.metadataexchange",
      "io.istio.http.peer_metadata",
      "io.istio.network",
    ];
    for (const {
      resource: { bytes },
      label,
    } of [...all("lds"), ...all("cds"), ...all("ecds")]) {
      const text = Buffer.from(bytes).toString("latin1");
      for (const name of istios) expect(text.includes(`type.googleapis.com/${name}`), `${label}: ${name}`).toBe(false);
    }
  });

  it("has every cluster accepted", async () => {
    expect(await refusals("cds", own("cds"))).toEqual([]);
  }, 120_000);

  it("has every assignment of endpoints accepted", async () => {
    const offered = own("eds");
    expect(
      await refusals(
        "cds",
        offered.map((r) => endpointAsker(r.name)),
      ),
    ).toEqual([]);
    expect(await refusals("eds", offered)).toEqual([]);
  }, 120_000);

  it("has every listener accepted, beside the clusters that it names", async () => {
    expect(
      await refusals(
        "cds",
        all("cds").map((m) => m.resource),
      ),
    ).toEqual([]);
    expect(
      await refusals(
        "lds",
        all("lds").map((m, n) => unbound(m.resource, m.label, n + 1)),
      ),
    ).toEqual([]);
  }, 120_000);

  it("has every route configuration accepted", async () => {
    const offered = own("rds");
    expect(
      await refusals(
        "lds",
        offered.map((r, n) => routeAsker(r.name, n + 1)),
      ),
    ).toEqual([]);
    expect(await refusals("rds", offered)).toEqual([]);
  }, 120_000);

  it("has every filter that is sent by itself accepted", async () => {
    const offered = [...new Map(all("ecds").map((m) => [m.resource.name, m.resource])).values()];
    if (offered.length === 0) return;
    expect(
      await refusals(
        "lds",
        offered.map((r, n) => filterAsker(r, n + 1)),
      ),
    ).toEqual([]);
    expect(await refusals("ecds", offered)).toEqual([]);
  }, 120_000);
});

function collect(
  scenario: Scenario,
  extensions: readonly string[],
  seen: Set<string>,
  made: ReadonlyMap<Type, Made[]>,
): void {
  for (const [key, resources] of generate(scenario, [...made.keys()], extensions)) {
    const type = key.split(" ").at(-1) as Type;
    for (const [name, bytes] of resources) {
      const content = `${type} ${createHash("sha256").update(bytes).digest("base64")}`;
      if (seen.has(content)) continue;
      seen.add(content);
      made
        .get(type)
        ?.push({ resource: resource(name, bytes), label: `${seen.size}~${name} of ${scenario.name} ${key}` });
    }
  }
}
