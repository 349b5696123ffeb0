import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { injectResources } from "@istiod/injector";
import {
  absence,
  comparable,
  filesOf,
  inputOf,
  parseFiles,
  referenceCases,
  wantOf,
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
    expect(comparable(output)).toEqual(comparable(wantOf(reference)));
    expect(comparable(inject(output))).toEqual(comparable(output));
  });
});
