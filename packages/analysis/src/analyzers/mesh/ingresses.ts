import { ingresses, ingressKind, type IngressObject } from "@istiod/config-schema";
import { lostTlsHosts } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";

export const ingressAnalyzer: Analyzer = {
  name: "mesh.IngressAnalyzer",
  description: "Checks that the certificates of Ingresses are served",
  codes: ["MESH0060"],
  rules: [rule(ingressKind, ingresses, checkCertificates)],
};

function checkCertificates({ namespace, name, spec }: IngressObject, { q, report }: AnalysisContext): void {
  for (const { index, hosts, kept, owner, secretName } of q.call(lostTlsHosts, `${namespace}/${name}`)) {
    const own = JSON.stringify(spec.tls[index]?.secretName ?? "");
    const by = owner === `${namespace}/${name}` ? "another entry of the Ingress" : `Ingress ${owner}, which is older,`;
    const serves = `${by} serves ${hosts.includes("*") ? "all hosts" : "them"} with ${JSON.stringify(secretName)}`;
    const path = ["spec", "tls", index, "secretName"];
    if (!hosts.includes("*"))
      report("MESH0060", path, `certificate ${own} is not served for ${hosts.join(", ")}: ${serves}`);
    else if (kept.length === 0)
      report("MESH0060", path, `certificate ${own} is not served: its entry names no hosts, and ${serves}`);
    else
      report(
        "MESH0060",
        path,
        `certificate ${own} is served for ${kept.join(", ")} only, the hosts of the rules: its entry names none, and ${serves} in addition`,
        "Info",
      );
  }
}
