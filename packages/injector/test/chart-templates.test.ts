import { describe, expect, it } from "vitest";
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
