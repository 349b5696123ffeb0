import { serviceEntries, serviceEntryKind, type ServiceEntryObject } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  egressListeners,
  isExportedTo,
  listenerServices,
  mergeObstacles,
  outboundTraffic,
  scopedService,
  type ScopeRef,
  serviceHeader,
  serviceInScope,
  serviceVisibility,
  sidecarScopeOf,
} from "@istiod/push-context";
import { declarationsOf, isHttp, service, type Service, servicesByHostname } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { namespacesWithSidecars, sidecarsIn } from "../../queries/clients.js";
import { listNames } from "../../suggestions.js";

export const lostPortAnalyzer: Analyzer = {
  name: "mesh.LostPortAnalyzer",
  description: "Checks that clients have the ports of a host that several objects declare",
  codes: ["MESH0027"],
  rules: [rule(serviceEntryKind, serviceEntries, checkPorts)],
};

/** Reports ports that clients see and do not have, because another declaration of the host applies to them. */
function checkPorts({ namespace, name, spec }: ServiceEntryObject, { q, report }: AnalysisContext): void {
  for (const host of new Set(spec.hosts)) {
    const id = q.call(sharedDeclarations, host)[`${namespace}/${name}`];
    const own = id === undefined ? undefined : q.call(service, id);
    if (own === undefined) continue;
    for (const [i, { number }] of spec.ports.entries()) {
      for (const [reason, clients] of clientsWithout(q, own, number))
        report(
          "MESH0027",
          ["spec", "ports", i],
          `sidecars of namespace ${listNames(clients)} do not have port ${number} of ${host}: ${reason}`,
        );
    }
  }
}

/**
 * The IDs of a host's services that ServiceEntries (`namespace/name`) declare; empty if there is one declaration only.
 * All entries of a host read it, so that none of them reads all others.
 */
const sharedDeclarations = query(
  "sharedServiceEntryDeclarations",
  (q, host: string): Readonly<Record<string, string>> => {
    const ids = q.call(servicesByHostname, host).flatMap((key) => q.call(declarationsOf, key));
    if (ids.length < 2) return {};
    const declared: Record<string, string> = {};
    for (const id of ids) {
      const each = q.call(service, id);
      if (each?.registry === "External") declared[`${each.namespace}/${each.objectName}`] ??= id;
    }
    return declared;
  },
);

/** Returns the namespaces that see a declaration and lack one of its ports, by the reason. */
function clientsWithout(q: QueryContext, own: Service, port: number): ReadonlyMap<string, readonly string[]> {
  const exportedTo = q.call(serviceHeader, own.id)?.exportedTo;
  const { owners, namespaces } = q.call(serviceVisibility, own.hostname);
  const special = new Set([...owners, ...namespaces]);
  const lacking = new Map<string, string[]>();
  let seenOther = false;
  for (const namespace of q.call(namespacesWithSidecars)) {
    if ((!special.has(namespace) && seenOther) || exportedTo === undefined || !isExportedTo(exportedTo, namespace))
      continue;
    seenOther ||= !special.has(namespace);
    const [labels = {}] = q.call(sidecarsIn, namespace);
    const scope = sidecarScopeOf(q, { namespace, labels });
    const scoped = q.call(serviceInScope, { scope, hostname: own.hostname });
    const used = scoped && q.call(scopedService, scoped);
    if (used === undefined || used.ports.some(({ number }) => number === port)) continue;
    const reason = `${reasonLost(q, own, used, namespace)}, so that ${consequenceAt(q, scope, own, port)}`;
    lacking.set(reason, [...(lacking.get(reason) ?? []), namespace]);
  }
  return lacking;
}

/** Returns what happens to connections to a lost port: listeners have the ports of all declarations of a namespace. */
function consequenceAt(q: QueryContext, scope: ScopeRef, own: Service, port: number): string {
  const listens = q
    .call(egressListeners, scope)
    .some((_, listener) => q.call(listenerServices, { scope, listener }).some((each) => each.service === own.id));
  if (!listens)
    return q.call(outboundTraffic, scope).mode === "REGISTRY_ONLY"
      ? "connections to it are blocked"
      : "connections to it are not managed by the mesh";
  const declared = own.ports.find(({ number }) => number === port);
  return declared !== undefined && isHttp(declared.protocol)
    ? "requests to it fail (503, no cluster)"
    : "connections to it are closed";
}

function reasonLost(q: QueryContext, own: Service, used: Service, client: string): string {
  const kind = used.registry === "External" ? "ServiceEntry" : "Service";
  const other = `${kind} ${used.namespace}/${used.objectName}`;
  if (used.namespace !== own.namespace)
    return used.namespace === client
      ? `${other} of their own namespace declares the host, and declarations of several namespaces are not merged`
      : `${other} declares the host and takes precedence, and declarations of several namespaces are not merged`;
  const isPublic = (id: string): boolean => q.call(serviceHeader, id)?.exportedTo.everyone ?? true;
  const precedence =
    !isPublic(used.id) && isPublic(own.id)
      ? "is exported to named namespaces, which takes precedence over public ones,"
      : "takes precedence,";
  const obstacles = mergeObstacles(used, own);
  const difference = obstacles.length === 0 ? "" : ` that differ in ${listNames(obstacles)}`;
  return `${other} declares the host, ${precedence} and its ports are not merged with those of declarations${difference}`;
}
