import { peerAuthenticationKind, type PeerAuthenticationObject, peerAuthentications } from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { missingPort, workloadPorts } from "../../queries/workload-ports.js";

export const peerPortAnalyzer: Analyzer = {
  name: "mesh.PeerPortAnalyzer",
  description: "Checks that the ports of PeerAuthentications are ports of workloads, not of Services",
  codes: ["MESH0025"],
  rules: [rule(peerAuthenticationKind, peerAuthentications, checkPorts)],
};

/** Reports ports that no selected workload has, and the ports that were meant if they are those of a Service. */
function checkPorts({ namespace, spec }: PeerAuthenticationObject, { q, report }: AnalysisContext): void {
  const labels = spec.selector?.matchLabels ?? {};
  const numbers = Object.keys(spec.portLevelMtls);
  if (numbers.length === 0 || Object.keys(labels).length === 0) return;
  const ports = q.call(workloadPorts, { namespace, labels });
  for (const number of numbers) {
    const missing = ports && missingPort(ports, Number(number));
    if (missing === undefined) continue;
    const path = ["spec", "portLevelMtls", number];
    if (missing.isOfService)
      report(
        "MESH0025",
        path,
        `no selected workload has port ${number}, so that the setting has no effect: ${missing.hint}`,
      );
    else {
      const message = `no selected workload declares port ${number}, and no Service leads to it: ${missing.hint}`;
      report("MESH0025", path, message, "Info");
    }
  }
}
