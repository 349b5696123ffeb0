import { findEnvoy } from "@istiod/envoy-binary";
import { whyNoEnvoy } from "@istiod/e2e";
import { keyPairFault, rootsFault } from "@istiod/credentials";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { client, clusterVerdicts, listenerVerdicts, roots, server } from "./key-material/judge.js";
import { keyPairs, rootTexts } from "./key-material/samples.js";

const reason = await whyNoEnvoy();

/** Number of key pairs and of roots; long runs set the variable. */
const cases = Number(process.env["HOSTILE_KEY_CASES"] ?? 1000);
const seed = Number(process.env["HOSTILE_KEY_SEED"] ?? 1);

/** Envoy takes a text without a revocation list, and then revokes nothing. */
const failsClosed = "there is no revocation list in PEM";

interface Difference {
  readonly text: string;
  readonly here: string;
  readonly envoy: string;
}

/** Returns the samples about which the verdicts differ. */
function differences<T extends { readonly text: string }>(
  samples: readonly T[],
  fault: (sample: T) => string | undefined,
  verdicts: readonly (string | undefined)[],
): readonly Difference[] {
  const rejected = verdicts.filter((verdict) => verdict !== undefined).length;
  const found = samples.flatMap((sample, n) => {
    const here = fault(sample);
    const envoy = verdicts[n];
    return (here === undefined) === (envoy === undefined) || (here === failsClosed && envoy === undefined)
      ? []
      : [{ text: sample.text, here: here ?? "accepted", envoy: envoy ?? "accepted" }];
  });
  console.log(`of ${samples.length} Envoy rejects ${rejected}; ${found.length} verdicts differ`);
  return found;
}

describe("verdicts on changed key material are those of a real Envoy", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));

  it("for certificates and keys of servers", { timeout: 60_000 + cases * 100 }, async () => {
    const samples = fc.sample(keyPairs, { numRuns: cases, seed });
    const verdicts = await listenerVerdicts((await findEnvoy())!, samples.map(server));
    expect(differences(samples, (pair) => keyPairFault(pair, "server"), verdicts)).toEqual([]);
  });

  it("for certificates and keys of clients", { timeout: 60_000 + cases * 100 }, async () => {
    const samples = fc.sample(keyPairs, { numRuns: cases, seed: seed + 1 });
    const verdicts = await clusterVerdicts((await findEnvoy())!, samples.map(client));
    expect(differences(samples, (pair) => keyPairFault(pair, "client"), verdicts)).toEqual([]);
  });

  it("for root certificates and revocation lists", { timeout: 60_000 + cases * 100 }, async () => {
    const samples = fc.sample(rootTexts, { numRuns: cases, seed });
    const verdicts = await clusterVerdicts((await findEnvoy())!, samples.map(roots));
    expect(differences(samples, rootsFault, verdicts)).toEqual([]);
  });
});
