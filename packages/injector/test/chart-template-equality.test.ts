import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  injectionValues,
  absence,
  referenceInstallation,
  withoutBootstrapScript,
  withoutResidue,
  chartInstallation,
  applyJsonPatch,
} from "@istiod/injector/testing";
import { decodePod, mutatePod, type Mutation } from "@istiod/injector";
import { arbitraryInjection, type Injection, valuesWith } from "./arbitrary-injections.js";
import { injectorOf } from "./injection-fixtures.js";

const runs = Number(process.env["INJECTION_RUNS"] ?? 40);
const chart = chartInstallation();

function result(name: string, source: string, injection: Injection): unknown {
  const { revision, nativeSidecars, compliancePolicy, mesh } = injection;
  const injector = injectorOf({
    templates: { [name]: source },
    config: { defaultTemplates: [name] },
    values: injectionValues(valuesWith(chart.values, injection.values)),
    mesh,
    injector: { revision, compliancePolicy, nativeSidecars: () => nativeSidecars },
  });
  // An API server sends pods with all fields of Go's types.
  const pod = decodePod(injection.pod);
  return outcome(pod, mutatePod({ object: pod }, injector));
}

/** Returns the pod after injection, or how it came that there is none. */
const outcome = (pod: unknown, mutation: Mutation): unknown =>
  mutation.outcome === "injected"
    ? withoutBootstrapScript(withoutResidue(applyJsonPatch(pod, mutation.patch)))
    : mutation.outcome === "skipped"
      ? mutation.reason
      : mutation.outcome;

/** The reference's grpc-agent misplaces fields without a status port: see manifests/README.md. */
function hasStatusPort({ pod, values }: Injection): boolean {
  const { annotations } = pod["metadata"] as { readonly annotations?: Readonly<Record<string, string>> };
  return (annotations?.["status.sidecar.istio.io/port"] ?? String(values["global.proxy.statusPort"])) !== "0";
}

describe("templates of the chart and of the reference give equal pods", () => {
  it.for(["sidecar", "gateway", "grpc-agent", "grpc-simple"])("%s", (name, { skip }) => {
    skip(absence !== undefined, absence);
    const reference = referenceInstallation().templates[name] ?? "";
    const injected = { count: 0 };
    fc.assert(
      fc.property(arbitraryInjection, (injection) => {
        fc.pre(name !== "grpc-agent" || hasStatusPort(injection));
        const wanted = result(name, reference, injection);
        // The chart's templates quote values, so that they also allow values that the reference's do not.
        fc.pre(wanted !== "failed");
        if (typeof wanted === "object") injected.count++;
        expect(result(name, chart.templates[name] ?? "", injection)).toEqual(wanted);
      }),
      { numRuns: runs },
    );
    expect(injected.count).toBeGreaterThan(runs / 4);
  });
});
