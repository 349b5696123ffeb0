import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { findEnvoy } from "@istiod/envoy-binary";
import { statsAnnotationFaults, statsRegexFault, statsTagFault } from "@istiod/settings";
import { beforeEach, describe, expect, it } from "vitest";
import { buildBootstrap } from "../src/bootstrap/bootstrap.js";
import { buildNodeMetadata } from "../src/node/metadata.js";
import { defaultProxyConfig } from "../src/proxy-config/defaults.js";
import { overlay } from "../src/proxy-config/overlay.js";
import { NO_ENVOY } from "./agent-fixture.js";
import { scratch } from "./fakes.js";

const envoyPath = await findEnvoy();
const sidecar = "sidecar.istio.io";

/** Returns the bootstrap of a pod, and the warnings. */
function bootstrapOf(annotations: Readonly<Record<string, string>>, proxyConfig: object = {}) {
  const config = overlay(defaultProxyConfig(), JSON.stringify(proxyConfig), "test");
  const warnings: string[] = [];
  const bootstrap = buildBootstrap({
    nodeId: "sidecar~127.0.0.1~cart.shop~shop.svc.cluster.local",
    node: buildNodeMetadata({
      env: { ISTIO_METAJSON_ANNOTATIONS: JSON.stringify(annotations) },
      proxyConfig: config,
      addresses: ["127.0.0.1"],
      podAnnotations: annotations,
      version: "1.0",
      pilotSubjectAltNames: [],
      statusPort: 15021,
      prometheusPort: 15090,
      workloadIdentitySocket: "socket",
    }),
    proxyConfig: config,
    addresses: ["127.0.0.1"],
    namespace: "shop",
    workloadName: "cart",
    statusPort: 15021,
    prometheusPort: 15090,
    sdsSocket: "./sds",
    xdsSocket: "./XDS",
    warn: (message) => warnings.push(message),
  });
  return { bootstrap, warnings };
}

/** Runs Envoy with a bootstrap for a moment, or in validation mode. Returns true if it does not exit with an error. */
async function isAccepted(bootstrap: JsonObject, mode: "validate" | "serve" = "validate"): Promise<boolean> {
  const directory = await scratch();
  const file = join(directory, "bootstrap.json");
  await writeFile(file, JSON.stringify(bootstrap));
  const options = ["-c", file, "-l", "critical", "--mode", mode, "--disable-hot-restart", "--concurrency", "1"];
  return new Promise((resolve) => {
    const envoy = execFile(envoyPath!, options, { cwd: directory }, (error) => {
      clearTimeout(timer);
      resolve(error === null || error.killed === true);
    });
    const timer = setTimeout(() => envoy.kill("SIGKILL"), mode === "serve" ? 2500 : 30_000);
  });
}

const minimal = (fields: JsonObject): JsonObject => ({ node: { id: "a", cluster: "b" }, ...fields });
const statsMatcher = (pattern: JsonObject): JsonObject =>
  minimal({ stats_config: { stats_matcher: { inclusion_list: { patterns: [pattern] } } } });

describe("intervals", () => {
  const valid: readonly (readonly [flush: string | undefined, eviction: string | undefined])[] = [
    ["500ms", "500ms"],
    ["1ms", "1ms"],
    ["1.5ms", "3ms"],
    ["4m59.999s", undefined],
    [undefined, "5s"],
    ["250ms", "1.5s"],
    ["1s", "1h"],
  ];
  const invalid: readonly (readonly [flush: string | undefined, eviction: string | undefined])[] = [
    ["0s", undefined],
    ["999us", undefined],
    ["5m", undefined],
    ["-1s", undefined],
    ["1s", "500ms"],
    ["500ms", "750ms"],
    [undefined, "4s"],
    [undefined, "0s"],
    ["1s", "9223372036s"],
  ];
  const annotationsOf = ([flush, eviction]: readonly (string | undefined)[]): Record<string, string> => ({
    ...(flush !== undefined && { [`${sidecar}/statsFlushInterval`]: flush }),
    ...(eviction !== undefined && { [`${sidecar}/statsEvictionInterval`]: eviction }),
  });

  it("keep fractions of a second", () => {
    const { bootstrap, warnings } = bootstrapOf(annotationsOf(["1.5ms", "500ms"]));
    expect(bootstrap).toMatchObject({ stats_flush_interval: "0.0015s" });
    expect(bootstrapOf(annotationsOf(["500ms", "1.5s"])).bootstrap).toMatchObject({
      stats_flush_interval: "0.5s",
      stats_eviction_interval: "1.5s",
    });
    expect(warnings).toEqual([]);
  });

  it.each(invalid)("%s and %s are left out with a warning", (...pair) => {
    expect(Object.keys(statsAnnotationFaults(annotationsOf(pair)))).toHaveLength(1);
    const { bootstrap, warnings } = bootstrapOf(annotationsOf(pair));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^annotation sidecar.istio.io\/stats(Flush|Eviction)Interval: is .*; leaving it out$/);
    expect(Object.keys(bootstrap).filter((key) => /^stats_.*_interval$/.test(key)).length).toBe(
      pair.filter((value) => value !== undefined).length - 1,
    );
  });

  it.for(valid)("%s and %s are accepted, also by Envoy", async (pair, { skip }) => {
    skip(!envoyPath, NO_ENVOY);
    expect(statsAnnotationFaults(annotationsOf(pair))).toEqual({});
    const { bootstrap, warnings } = bootstrapOf(annotationsOf(pair));
    expect(warnings).toEqual([]);
    expect(await isAccepted(bootstrap)).toBe(true);
  });

  it.for(invalid)("Envoy exits with %s and %s", async ([flush, eviction], { skip }) => {
    skip(!envoyPath, NO_ENVOY);
    const seconds = (text: string): string =>
      `${{ "999us": 0.000999, "5m": 300, "500ms": 0.5, "750ms": 0.75, "9223372036s": 9_223_372_036 }[text] ?? Number.parseFloat(text)}s`;
    const fields: JsonObject = {
      ...(flush !== undefined && { stats_flush_interval: seconds(flush) }),
      ...(eviction !== undefined && { stats_eviction_interval: seconds(eviction) }),
    };
    expect(await isAccepted(minimal(fields))).toBe(false);
  });
});

describe("what statistics include", () => {
  beforeEach(({ skip }) => skip(!envoyPath, NO_ENVOY));

  const regexes = {
    valid: [
      ".*upstream_rq.*",
      "a{1,1000}",
      "(a{1,100}){1,10}",
      "\\pL{1,50}",
      "é",
      "(?P<a>b)",
      "(?<a>b)",
      "^$",
      "\\xe9",
    ],
    invalid: ["[", "(a{1,1000}){1,2}", "\\x{4e00}", "(?=a)", "a{1001}", "\\", "*", "(?<=a)b", "\\p{Foo}", "\\p{Emoji}"],
  };

  it.each(regexes.invalid)("the pattern %s, with which Envoy exits, is left out with a warning", async (regex) => {
    expect(statsRegexFault(regex)).toBeDefined();
    expect(await isAccepted(statsMatcher({ safe_regex: { regex } }), "serve")).toBe(false);
    for (const { warnings, bootstrap } of [
      bootstrapOf({ [`${sidecar}/statsInclusionRegexps`]: regex.includes(",") ? "[" : regex }),
      bootstrapOf({}, { proxyStatsMatcher: { inclusionRegexps: [regex] } }),
    ]) {
      expect(warnings).toHaveLength(1);
      expect(JSON.stringify(bootstrap["stats_config"])).not.toContain(JSON.stringify({ regex }));
    }
  });

  it("valid patterns, names, tags and buckets start Envoy", { timeout: 30_000 }, async () => {
    const { bootstrap, warnings } = bootstrapOf(
      {
        [`${sidecar}/statsInclusionPrefixes`]: "cluster.,listener.{pod_ip}",
        [`${sidecar}/extraStatTags`]: "a.b,c_d",
        [`${sidecar}/statsHistogramBuckets`]: '{"cluster.": [0.5, 1, 10], "http.": []}',
        [`${sidecar}/statsFlushInterval`]: "500ms",
        [`${sidecar}/statsEvictionInterval`]: "1500ms",
      },
      {
        proxyStatsMatcher: { inclusionRegexps: regexes.valid, inclusionSuffixes: ["x"] },
        extraStatTags: ["request_id"],
      },
    );
    expect(warnings).toEqual([]);
    expect(await isAccepted(bootstrap)).toBe(true);
    const stats = { stats_config: bootstrap["stats_config"]!, stats_flush_interval: "0.5s" };
    expect(await isAccepted(minimal(stats), "serve")).toBe(true);
  });

  it.each(["a,,b", ","])("empty elements of %s are left out with a warning", async (list) => {
    expect(Object.keys(statsAnnotationFaults({ [`${sidecar}/statsInclusionPrefixes`]: list }))).toHaveLength(1);
    expect(await isAccepted(statsMatcher({ prefix: "" }))).toBe(false);
    const { bootstrap, warnings } = bootstrapOf({ [`${sidecar}/statsInclusionPrefixes`]: list });
    expect(warnings.length).toBeGreaterThan(0);
    expect(await isAccepted(bootstrap)).toBe(true);
  });

  it.each(["a[", "(", "*", ")", "(?i)x", "(?<a>b)", "x".repeat(1020)])("the tag %s is left out", async (name) => {
    expect(statsTagFault(name)).toBeDefined();
    const tags = [{ tag_name: name, regex: String.raw`(${name}=\.=(.*?);\.;)` }];
    expect(await isAccepted(minimal({ stats_config: { stats_tags: tags } }))).toBe(false);
    const { bootstrap, warnings } = bootstrapOf({ [`${sidecar}/extraStatTags`]: name });
    expect(warnings).toHaveLength(1);
    expect(await isAccepted(bootstrap)).toBe(true);
  });

  it.each(['{"a": [0]}', '{"a": [-1]}', '{"a": [1, 1]}', '{"": [1]}'])("the buckets %s are left out", async (text) => {
    const [[prefix, buckets]] = Object.entries(JSON.parse(text) as Record<string, number[]>) as [[string, number[]]];
    expect(
      await isAccepted(minimal({ stats_config: { histogram_bucket_settings: [{ match: { prefix }, buckets }] } })),
    ).toBe(false);
    const { bootstrap, warnings } = bootstrapOf({ [`${sidecar}/statsHistogramBuckets`]: text });
    expect(warnings).toHaveLength(1);
    expect(await isAccepted(bootstrap)).toBe(true);
  });
});
