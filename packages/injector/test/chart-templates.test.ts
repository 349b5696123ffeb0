import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { applyMeshConfig } from "@istiod/config-schema";
import { injectResources, parseInjectorConfig, parseValues } from "@istiod/injector";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import {
  absence,
  comparable,
  filesOf,
  injectionValues,
  inputOf,
  parseFiles,
  referenceCases,
  wantOf,
  withoutBootstrapScript,
  chartInstallation,
} from "@istiod/injector/testing";

const cases = referenceCases();
const installation = chartInstallation();

describe("templates and values of the chart give the pods of the reference", () => {
  it("has cases", ({ skip }) => {
    skip(absence !== undefined, absence);
    expect(cases.length).toBeGreaterThan(70);
  });

  it("has a template for each way to run a proxy", () => {
    expect(Object.keys(installation.templates).sort()).toEqual([
      "gateway",
      "grpc-agent",
      "grpc-simple",
      "kube-gateway",
      "sidecar",
      "waypoint",
    ]);
  });

  it.each([
    ["true", ["--native-nftables"]],
    ["false", []],
  ])("istio-init redirects by nft where global.nativeNftables is %s", (value, flags) => {
    const setFlags = [`values.global.nativeNftables=${value}`];
    const files = filesOf({ input: "", want: "", setFlags }, installation);
    const { config, values, meshConfig } = parseFiles(files);
    const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}";
    const { output } = injectResources(pod, {
      templates: config.templates,
      values,
      meshConfig,
      revision: "",
      nativeSidecars: false,
      compliancePolicy: "",
    });
    const { spec } = parse(output.split("\n---\n")[0] ?? "") as {
      spec: { initContainers: [{ name: string; args: string[] }] };
    };
    const [init] = spec.initContainers;
    expect([init.name, init.args.filter((argument) => argument.includes("nft"))]).toEqual(["istio-init", flags]);
  });

  it.each(cases)("$input becomes $want, also after another injection", (reference) => {
    const { config, values, meshConfig } = parseFiles(filesOf(reference, installation));
    const inject = (text: string): string =>
      injectResources(text, {
        templates: config.templates,
        values,
        meshConfig,
        revision: "",
        nativeSidecars: reference.env?.["ENABLE_NATIVE_SIDECARS"] === "true",
        compliancePolicy: "",
      }).output;
    const output = inject(inputOf(reference));
    expect(withoutBootstrapScript(comparable(output))).toEqual(withoutBootstrapScript(comparable(wantOf(reference))));
    expect(comparable(inject(output))).toEqual(comparable(output));
  });
});

/**
 * Istio's script of `grpc-simple` writes a bootstrap with which no library connects (manifests/README.md), so it is
 * not compared with the reference.
 */
describe("the bootstrap of grpc-simple", () => {
  it("has istiod's address, the namespace and a locality", async () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", annotations: { "inject.istio.io/templates": "grpc-simple" } },
      spec: { containers: [{ name: "web", image: "web" }] },
    };
    const { output } = injectResources(JSON.stringify(pod), {
      templates: parseInjectorConfig(JSON.stringify({ templates: installation.templates }), {
        environment: {},
        now: () => 0,
      }).templates,
      values: parseValues(JSON.stringify(injectionValues(installation.values))),
      meshConfig: required(applyMeshConfig({}, { warning: () => undefined, error: () => undefined })),
      revision: "",
      nativeSidecars: false,
      compliancePolicy: "",
    });
    const injected = parseAllDocuments(output)[0]?.toJS() as InjectedPod;
    const [init] = injected.spec.initContainers;
    const folder = await mkdtemp(join(tmpdir(), "grpc-simple-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const script = (init?.command.at(-1) ?? "").replaceAll("/var/lib/grpc/data", folder);
    const given = { INSTANCE_IP: "10.0.0.1", POD_NAME: "web-1", POD_NAMESPACE: "shop" };
    const fixed = init?.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])) ?? [];
    await promisify(execFile)("sh", ["-c", script], { env: { ...given, ...Object.fromEntries(fixed) } });
    const bootstrap: unknown = JSON.parse(await readFile(join(folder, "bootstrap.json"), "utf8"));
    expect(bootstrap).toEqual({
      xds_servers: [
        {
          server_uri: "dns:///istiod.istio-system.svc:15010",
          channel_creds: [{ type: "insecure" }],
          server_features: ["xds_v3"],
        },
      ],
      node: {
        id: "sidecar~10.0.0.1~web-1.shop~shop.svc.cluster.local",
        locality: {},
        metadata: { GENERATOR: "grpc", NAMESPACE: "shop" },
      },
      server_listener_resource_name_template: "xds.istio.io/grpc/lds/inbound/%s",
    });
  });
});

interface InjectedPod {
  readonly spec: {
    readonly initContainers: readonly {
      readonly command: readonly string[];
      readonly env: readonly { readonly name: string; readonly value?: string }[];
    }[];
  };
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("rejected");
  return value;
}
