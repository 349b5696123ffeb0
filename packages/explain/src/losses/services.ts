import { query, type View } from "@istiod/incremental";
import {
  isExportedTo,
  type Proxy,
  type ScopedService,
  scopedService,
  scopeOf,
  type ScopeRef,
  scopeServices,
  serviceHeader,
  serviceInScope,
} from "@istiod/push-context";
import { declarationsOf, keyOfId, type Service, service, servicesByHostname } from "@istiod/service-discovery";
import type { ResourceType } from "../resource-types.js";
import { type Loss, loss, named } from "./loss.js";

/**
 * Services of a host of the resource that the client does not mean by it: of other namespaces, or declared once more in
 * the same one.
 */
export function losingServices(view: View<Proxy>, type: ResourceType, name: string): readonly Loss[] {
  return hostsOf(view, type, name).flatMap((host) => losersOf(view, host));
}

/** The hosts that a resource is for: one of a cluster, those of a port of a listener or of a route configuration. */
function hostsOf(view: View<Proxy>, { short }: ResourceType, name: string): readonly string[] {
  if (short === "cds" || short === "eds") return [hostOfCluster(name) ?? []].flat();
  const port =
    view.client.type === "sidecar" ? { lds: /_(\d+)$/, rds: /(?:^|:)(\d+)$/ }[short]?.exec(name)?.[1] : undefined;
  return port === undefined ? [] : view.call(hostsAtPort, Number(port));
}

const hostsAtPort = query("explain.hostsAtPort", (q, port: number): readonly string[] =>
  q
    .call(scopeServices, scopeOf(q))
    .flatMap((scoped) =>
      q.call(scopedService, scoped)?.ports.some(({ number }) => number === port) ? [scoped.hostname] : [],
    ),
);

function losersOf(view: View<Proxy>, host: string): readonly Loss[] {
  const keys = view.call(servicesByHostname, host);
  const ids = keys.flatMap((key) => view.call(declarationsOf, key));
  if (ids.length < 2) return [];
  const { scope, scoped } = view.call(meant, host);
  const winner = scoped && view.call(service, scoped.service);
  if (scoped === undefined || winner === undefined) return [];
  return ids.flatMap((id) => {
    const found = view.call(service, id);
    if (found === undefined || id === winner.id || scoped.added?.some((added) => added.service === id)) return [];
    const reason =
      keyOfId(id) === keyOfId(winner.id) ? sameNamespace(found, winner) : otherNamespace(view, scope, found, winner);
    return [
      loss(kindOf(found), keyOf(found), reason, {
        field: fieldOf(found, host),
        winner: named(kindOf(winner), keyOf(winner)),
      }),
    ];
  });
}

const meant = query(
  "explain.serviceMeant",
  (q, hostname: string): { readonly scope: ScopeRef; readonly scoped: ScopedService | undefined } => {
    const scope = scopeOf(q);
    return { scope, scoped: q.call(serviceInScope, { scope, hostname }) };
  },
);

/** Of one host and namespace, one declaration is the service; endpoints are those of all. */
function sameNamespace(loser: Service, winner: Service): string {
  const first =
    winner.registry === "Kubernetes" && loser.registry !== "Kubernetes"
      ? "a Kubernetes Service comes first"
      : "the oldest declaration counts";
  return `declares ${loser.hostname} as ${describe(winner)} does, in the same namespace: ${first}, and of this one the endpoints only`;
}

/** In the order in which services are chosen (pilot/pkg/model/sidecar.go, selectServices). */
function otherNamespace(view: View<Proxy>, scope: ScopeRef, loser: Service, winner: Service): string {
  const client = view.client.namespace;
  const exportedTo = view.call(serviceHeader, loser.id)?.exportedTo;
  if (exportedTo !== undefined && !isExportedTo(exportedTo, client)) return `is not exported to namespace ${client}`;
  const way = `gives way to ${describe(winner)} for ${loser.hostname}`;
  if (winner.namespace === client) return `${way}: services of the client's own namespace come first`;
  if (loser.namespace === client)
    return `${way}: Sidecar ${scope.sidecar} does not import it from namespace ${loser.namespace}`;
  if (winner.registry === "Kubernetes" && loser.registry !== "Kubernetes")
    return `${way}: a Kubernetes Service comes before ServiceEntries`;
  if (scope.sidecar !== undefined) return `${way}: of those that Sidecar ${scope.sidecar} imports the oldest counts`;
  return `${way}, which comes first by age, name and namespace`;
}

function describe(found: Service): string {
  return `${kindOf(found)} ${keyOf(found)}`;
}

function kindOf({ registry }: Service): "Service" | "ServiceEntry" {
  return registry === "External" ? "ServiceEntry" : "Service";
}

function keyOf({ namespace, objectName }: Service): string {
  return `${namespace}/${objectName}`;
}

/** What names the host: of a Service its own name. */
function fieldOf({ registry }: Service, host: string): string {
  return registry === "External" ? `spec.hosts (${host})` : "metadata.name";
}

/** The host in `outbound|80|subset|host` or `outbound_.80_.subset_.host`. */
function hostOfCluster(name: string): string | undefined {
  return /^outbound(?:\|[^|]*\|[^|]*\||_\.[^_]*_\..*?_\.)(.+)$/.exec(name)?.[1];
}
