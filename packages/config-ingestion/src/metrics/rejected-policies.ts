import type { RejectedPolicy } from "../ledger/stored-versions.js";
import type { Meter } from "@istiod/metrics";

type RejectedPolicies = readonly RejectedPolicy[];

/** Registers the gauge of rejected policies, by their kind and by what applies instead. */
export function rejectedPolicyMetrics(meter: Meter, read: () => RejectedPolicies): void {
  meter.observeGauge(
    {
      name: "istiod_rejected_policies",
      help: "Rejected objects of kinds that restrict, by what applies instead: last-good, stored or fail-closed.",
      labels: ["kind", "enforced"],
    },
    () => {
      const counts = new Map<string, number>();
      for (const { kind, enforced } of read()) {
        const id = `${kind.kind} ${enforced}`;
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      return [...counts].map(([id, value]) => {
        const [kind = "", enforced = ""] = id.split(" ");
        return { value, labels: { kind, enforced } };
      });
    },
  );
}

/** Returns the body of `/ready`: the number of rejected policies; empty if there are none. */
export function rejectedPoliciesSummary(rejected: RejectedPolicies): string {
  if (rejected.length === 0) return "";
  const count = (enforced: RejectedPolicies[number]["enforced"]): number =>
    rejected.filter((policy) => policy.enforced === enforced).length;
  return `rejected policies: ${count("fail-closed")} fail closed, ${count("stored") + count("last-good")} keep their last good version\n`;
}
