import { describe, expect, it } from "vitest";
import { injectResources } from "@istiod/injector";
import {
  absence,
  comparable,
  filesOf,
  inputOf,
  parseFiles,
  type ReferenceCase,
  referenceCases,
  wantOf,
} from "@istiod/injector/testing";

const cases = referenceCases();

function inject(
  reference: ReferenceCase,
  text: string,
): { readonly output: string; readonly warnings: readonly string[] } {
  const { config, values, meshConfig } = parseFiles(filesOf(reference));
  return injectResources(text, {
    templates: config.templates,
    values,
    meshConfig,
    revision: "",
    nativeSidecars: reference.env?.["ENABLE_NATIVE_SIDECARS"] === "true",
    compliancePolicy: "",
  });
}

describe("injection of files equals the reference", () => {
  it("has cases", ({ skip }) => {
    skip(absence !== undefined, absence);
    expect(cases.length).toBeGreaterThan(70);
  });

  it.each(cases)("$input becomes $want", (reference) => {
    const { output, warnings } = inject(reference, inputOf(reference));
    expect(comparable(output)).toEqual(comparable(wantOf(reference)));
    if (reference.expectedLog !== undefined)
      expect(warnings.join("\n")).toContain(reference.expectedLog.replaceAll('\\"', '"'));
  });

  it.each(cases)("$input is the same after another injection", (reference) => {
    const { output } = inject(reference, inputOf(reference));
    expect(comparable(inject(reference, output).output)).toEqual(comparable(output));
  });
});
