import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { findScenarios, generate, type Scenario } from "@istiod/parity";
import { beforeEach, describe, expect, it } from "vitest";
import { type Call, type Outcome, type ProxyState, simulate } from "../src/index.js";

/** The expected result of a call. Only fields that are set are compared, and errors always. */
interface Recorded {
  readonly proxy: string;
  readonly name: string;
  readonly call: Call;
  readonly result: Outcome & { readonly strictMatch?: boolean };
}

const cases = join(import.meta.dirname, "../../../../shared/cases");
const recorded = existsSync(cases)
  ? findScenarios(cases).flatMap((scenario) => (callsOf(scenario) === undefined ? [] : [scenario]))
  : [];

/**
 * Errors that differ from the recorded ones, argued in docs/parity.md: Envoy rejects a listener in which several filter
 * chains match, and the later one is left out here.
 */
const arguedErrors: Readonly<Record<string, Outcome["error"]>> = {
  "core/TestGatewayConflicts__duplicate_tls_gateway": "no route matched",
};

describe("calls recorded with the reference's cases", () => {
  beforeEach(({ skip }) => skip(recorded.length === 0, "no ../shared/cases beside the repository"));

  it.each(recorded.map((scenario) => [scenario.name, scenario] as const))("%s", (_, scenario) => {
    const states = stateOfProxies(scenario);
    for (const { proxy, name, call, result } of callsOf(scenario) ?? []) {
      const { strictMatch, ...original } = result;
      const argued = arguedErrors[scenario.name];
      const expected = argued === undefined ? original : { ...original, error: argued };
      const outcome = simulate(states(proxy), call);
      expect
        .soft(strictMatch ? outcome : { error: undefined, ...pick(outcome, expected) }, name)
        .toEqual(strictMatch ? expected : { error: undefined, ...expected });
    }
  });

  it("are all there", () => {
    expect([recorded.length, recorded.flatMap((scenario) => callsOf(scenario) ?? []).length]).toEqual([45, 179]);
  });
});

function callsOf({ folder }: Scenario): readonly Recorded[] | undefined {
  const file = join(folder ?? "", "calls.json");
  return folder !== undefined && existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Recorded[]) : undefined;
}

function stateOfProxies(scenario: Scenario): (proxy: string) => ProxyState {
  const generated = generate(scenario, ["lds", "rds"]);
  return (proxy) => ({
    listeners: [...(generated.get(`${proxy} lds`) ?? [])].map(([, bytes]) => fromBinary(ListenerSchema, bytes)),
    routes: new Map(
      [...(generated.get(`${proxy} rds`) ?? [])].map(([name, bytes]) => [
        name,
        fromBinary(RouteConfigurationSchema, bytes),
      ]),
    ),
  });
}

function pick(outcome: Outcome, like: Outcome): Outcome {
  return {
    ...(outcome.error !== undefined && { error: outcome.error }),
    ...Object.fromEntries(Object.keys(like).map((field) => [field, outcome[field as keyof Outcome]])),
  };
}
