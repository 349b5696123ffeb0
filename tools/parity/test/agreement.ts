import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  findScenarios,
  unsupportedFeature,
  type Parity,
  parityOf,
  type Scenario,
  share,
  sum,
  table,
} from "../src/index.js";

const shared = join(import.meta.dirname, "../../../../shared");

/** Situations that differ, with the names of the resources that do: argued in docs/parity.md. */
const argued: Readonly<Record<string, readonly string[]>> = {
  "core/TestGatewayConflicts__duplicate_tls_gateway": ["0.0.0.0_443"],
  "core/TestGatewayExternalSDSProvider__external_SDS_provider_with_MUTUAL_TLS": ["0.0.0.0_443"],
  "core/TestGatewayExternalSDSProvider__external_SDS_provider_with_SIMPLE_TLS": ["0.0.0.0_443"],
  "core/TestInboundNetworkFilterStatPrefix__service_only_pattern": ["virtualInbound"],
  "core/TestOutboundListenerConflictWithReservedListener__service_port_conflict_with_proxy_static_listener": [
    "0.0.0.0_15090",
  ],
  "core/TestOutboundListenerConflictWithReservedListener__service_port_conflict_with_proxy_virtual_listener": [
    "0.0.0.0_15006",
  ],
  "core/TestSidecarDynamicDNSClusters__GRPC_protocol": ["outbound|9090||*.svc.cluster.local"],
};

/**
 * Compares every judged situation of a folder of `../shared` resource by resource, one test each; what is argued may
 * differ, and nothing else. Then the figures by group; those that are not argued must reach the floors. Situations that
 * need features that istiod does not have are counted apart, without a floor.
 */
export function agreementWith(folder: string, belongs: (s: Scenario) => boolean): void {
  const root = join(shared, folder);
  const found = existsSync(root) ? findScenarios(root).filter(belongs) : [];
  const judged = found.filter((s) => unsupportedFeature(s) === undefined);
  describe(`recorded ${folder}`, () => {
    beforeEach(({ skip }) => skip(found.length === 0, `no ../shared/${folder} beside the repository`));
    const done = new Map<string, Parity[]>();
    const unargued: Parity[] = [];
    const note = (group: string, p: Parity): unknown => done.set(group, [...(done.get(group) ?? []), p]);

    it.each(judged.map((s) => [s.name, s] as const))("%s", (name, s) => {
      const p = parityOf(s);
      note(groupOf(s), p);
      if (argued[name] === undefined) unargued.push(p);
      expect(p.error).toBeUndefined();
      expect(disagreements(p)).toEqual(argued[name] ?? []);
    });

    it("reach the floors", () => {
      const all = sum("judged", unargued);
      expect(share(all.changedEqual, all.changed)).toBeGreaterThanOrEqual(99.5);
      expect(share(all.equal, all.all)).toBeGreaterThanOrEqual(99.9);
      expect(share(all.full, all.n)).toBeGreaterThanOrEqual(99);
    });

    it("and what needs features that istiod does not have, apart", () => {
      for (const s of found) {
        const feature = unsupportedFeature(s);
        if (feature !== undefined) note(`apart: ${feature}`, parityOf(s));
      }
    }, 300_000);

    afterAll(() => {
      if (done.size > 0)
        console.log(
          table(
            [...done]
              .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
              .map(([group, list]) => sum(group, list)),
          ),
        );
    });
  });
}

function disagreements(p: Parity): readonly string[] {
  return [...p.comparisons.values()].flatMap(({ missing, extra, different }) => [
    ...missing,
    ...extra,
    ...different.keys(),
  ]);
}

function rank(group: string): number {
  return group.startsWith("apart") ? 1 : 0;
}

export function groupOf(s: Scenario): string {
  return s.name.split("/")[0] ?? "";
}
