import {
  type FieldPath,
  servicesByNamespace,
  type SidecarObject,
  sidecarKind,
  sidecars,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { nearestNames } from "@istiod/settings";
import { query, type QueryContext } from "@istiod/incremental";
import { rootNamespace } from "@istiod/push-context";
import { discoverySettings, servicesByHostname } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { faultOfNamespace } from "../../queries/namespaces.js";

export const hostAnalyzer: Analyzer = {
  name: "mesh.HostAnalyzer",
  description: "Checks that the hosts of VirtualServices and the egress hosts of Sidecars are services",
  codes: ["MESH0004", "MESH0005"],
  rules: [rule(virtualServiceKind, virtualServices, checkVirtualService), rule(sidecarKind, sidecars, checkSidecar)],
};

/**
 * Reports whether the configuration contains Services other than those of the installation. If not, no host is reported
 * as missing.
 */
export const describesServices = query("describesServices", (q): boolean =>
  q.keys(servicesByNamespace).some((namespace) => namespace !== rootNamespace(q)),
);

/**
 * Reports hosts on the mesh gateway that look like service names and do not exist. Hosts at other gateways are
 * arbitrary.
 */
function checkVirtualService({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (spec.gateways.length > 0 && !spec.gateways.includes("mesh")) return;
  for (const [i, host] of spec.hosts.entries())
    checkHost(q, host, namespace, (message) => report("MESH0005", ["spec", "hosts", i], message));
}

function checkSidecar({ namespace, spec }: SidecarObject, { q, report }: AnalysisContext): void {
  for (const [i, { hosts }] of spec.egress.entries()) {
    for (const [j, entry] of hosts.entries()) {
      const path: FieldPath = ["spec", "egress", i, "hosts", j];
      const slash = entry.indexOf("/");
      const scope = entry.slice(0, slash).replace(/^[.~]$/, namespace);
      if (slash < 0 || scope === "*" || scope === "") continue;
      const fault = faultOfNamespace(q, scope);
      if (fault !== undefined) report("MESH0004", path, fault);
      else
        checkHost(q, entry.slice(slash + 1), scope, (message) =>
          report("MESH0005", path, `${message}; the workloads cannot reach it`),
        );
    }
  }
}

/** Reports a host that looks like that of a service, and matches none. */
export function checkHost(q: QueryContext, host: string, namespace: string, report: (message: string) => void): void {
  if (host.includes("*") || host === "") return;
  const domain = discoverySettings.domain(q);
  const suffix = `.svc.${domain}`;
  const parts = host.endsWith(suffix)
    ? host.slice(0, -suffix.length).split(".")
    : host.replace(/\.svc$/, "").split(".");
  const [name = "", owner = namespace] = parts;
  if (parts.length > 2) return;
  const full = `${name}.${owner}${suffix}`;
  if (q.call(servicesByHostname, full).length > 0) {
    if (parts.length === 2 && host !== full)
      report(
        `host ${JSON.stringify(host)} is not a full name, and matches no service; did you mean ${JSON.stringify(full)}?`,
      );
    return;
  }
  if (q.call(servicesByHostname, host).length > 0) return;
  if (!q.call(describesServices)) return;
  const candidates = q.read(servicesByNamespace, owner).map((service) => service.name);
  const [nearest] = nearestNames(name, candidates, 1);
  // A name with a dot outside of the cluster domain is an external host, unless it resembles a name of the cluster.
  if (parts.length === 2 && !host.endsWith(suffix) && nearest === undefined) return;
  const hint =
    nearest === undefined
      ? ""
      : `; did you mean ${JSON.stringify(parts.length === 1 ? nearest : `${nearest}.${owner}${suffix}`)}?`;
  report(`host ${JSON.stringify(host)} matches no service${parts.length === 1 ? ` of namespace ${owner}` : ""}${hint}`);
}
