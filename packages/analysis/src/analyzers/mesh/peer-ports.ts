import { peerAuthenticationKind, type PeerAuthenticationObject, peerAuthentications } from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { selectedPods } from "../../queries/pods.js";
import { servedPorts } from "../../queries/served-ports.js";
import { listNames } from "../../suggestions.js";

export const peerPortAnalyzer: Analyzer = {
  name: "mesh.PeerPortAnalyzer",
  description: "Checks that the ports of PeerAuthentications are ports of workloads, not of Services",
  codes: ["MESH0025"],
  rules: [rule(peerAuthenticationKind, peerAuthentications, checkPorts)],
};

/** Reports ports that no selected workload has, and the ports that were meant if they are those of a Service. */
function checkPorts({ namespace, spec }: PeerAuthenticationObject, { q, report }: AnalysisContext): void {
  const labels = spec.selector?.matchLabels ?? {};
  if (Object.keys(labels).length === 0) return;
  const pods = Object.keys(spec.portLevelMtls).length === 0 ? [] : q.call(selectedPods, { namespace, labels });
  if (pods.length === 0) return;
  const served = pods.flatMap((pod) => servedPorts(q, pod));
  const own = new Set([
    ...pods.flatMap(({ ports = [] }) => ports.map(({ containerPort }) => containerPort)),
    ...served.flatMap(({ target }) => target ?? []),
  ]);
  for (const number of Object.keys(spec.portLevelMtls)) {
    const port = Number(number);
    if (own.has(port)) continue;
    const path = ["spec", "portLevelMtls", number];
    const none = `no selected workload has port ${port}, so that the setting has no effect`;
    const meant = served.filter((each) => each.port.port === port);
    if (meant.length > 0) {
      const names = listNames(distinct(meant.map(({ service }) => `${namespace}/${service}`)));
      const targets = listNames(distinct(meant.map(({ target }) => String(target ?? "unknown"))));
      report("MESH0025", path, `${none}: it is the port of Service ${names}; name the workload's port, ${targets}`);
    } else if (own.size > 0) {
      // Containers need not declare the ports on which they listen.
      const known = [...own].sort((a, b) => a - b).map(String);
      const message = `no selected workload declares port ${port}, and no Service leads to it: they have ${listNames(known)}`;
      report("MESH0025", path, message, "Info");
    }
  }
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}
