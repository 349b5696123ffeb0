import { describe, expect, it } from "vitest";
import { effectiveProxyConfig, type Injector, mutatePod } from "@istiod/injector";
import {
  absence,
  applyJsonPatch,
  filesOf,
  inputOf,
  parseFiles,
  podsOf,
  type ReferenceCase,
  referenceCases,
  wantOf,
  withoutResidue,
} from "@istiod/injector/testing";

function injectorOf(reference: ReferenceCase): Injector {
  const files = parseFiles(filesOf(reference));
  return {
    ...files,
    revision: "",
    compliancePolicy: "",
    proxyConfig: (target) => effectiveProxyConfig(files.meshConfig, [], target),
    nativeSidecars: () => reference.env?.["ENABLE_NATIVE_SIDECARS"] === "true",
  };
}

describe("the webhook's answers equal the reference", () => {
  const cases = referenceCases().filter(({ skipWebhook, expectedError }) => !skipWebhook && !expectedError);

  it("has cases", ({ skip }) => {
    skip(absence !== undefined, absence);
    expect(cases.length).toBeGreaterThan(60);
  });

  it.each(cases)("$input becomes $want, also after another injection", (reference) => {
    const injector = injectorOf(reference);
    const wanted = podsOf(wantOf(reference));
    for (const [i, pod] of podsOf(inputOf(reference)).entries()) {
      const injected = mutated(pod, injector);
      expect(withoutResidue(injected)).toEqual(withoutResidue(wanted[i]));
      expect(withoutResidue(mutated(injected, injector))).toEqual(withoutResidue(injected));
    }
  });
});

function mutated(pod: unknown, injector: Injector): unknown {
  const result = mutatePod({ object: pod, path: "/inject" }, injector);
  if (result.outcome === "failed") throw new Error(result.message);
  return result.outcome === "injected" ? applyJsonPatch(pod, result.patch) : pod;
}
