import { query, type View } from "@istiod/incremental";
import {
  isExportedTo,
  mergeObstacles,
  type Proxy,
  type ScopedService,
  scopeOf,
  type ScopeRef,
  serviceHeader,
  serviceInScope,
} from "@istiod/push-context";
import { declarationsOf, keyOfId, type Service, service, servicesByHostname } from "@istiod/service-discovery";
import type { ResourceType } from "../resource-types.js";
import { hostsOf } from "./hosts-of.js";
import { ignoredConfig, type IgnoredConfig, objectReference } from "./ignored-config.js";

/** Returns services with a host of the resource that another service with that host overrides for the client. */
export function ignoredServices(view: View<Proxy>, type: ResourceType, name: string): readonly IgnoredConfig[] {
  return hostsOf(view, type, name).flatMap((host) => ignoredServicesOfHost(view, host));
}

function ignoredServicesOfHost(view: View<Proxy>, host: string): readonly IgnoredConfig[] {
  const keys = view.call(servicesByHostname, host);
  const ids = keys.flatMap((key) => view.call(declarationsOf, key));
  if (ids.length < 2) return [];
  const { scope, scoped } = view.call(serviceForClient, host);
  const used = scoped && view.call(service, scoped.service);
  if (scoped === undefined || used === undefined) return [];
  const isUsed = ({ id }: Service): boolean =>
    id === used.id || scoped.added?.some((added) => added.service === id) === true;
  return byObject(ids.flatMap((id) => view.call(service, id) ?? [])).flatMap((services) => {
    const [found] = services;
    if (found === undefined || services.some(isUsed)) return [];
    const reason =
      keyOfId(found.id) === keyOfId(used.id)
        ? (reasonNotExported(view, found) ?? reasonInSameNamespace(view, found, used))
        : reasonInOtherNamespace(view, scope, found, used);
    return [
      ignoredConfig(kindOf(found), keyOf(found), reason, {
        field: hostField(found, host),
        overriddenBy: objectReference(kindOf(used), keyOf(used)),
      }),
    ];
  });
}

/** Groups services by object: a ServiceEntry is one service for each of its addresses. */
function byObject(services: readonly Service[]): readonly (readonly Service[])[] {
  const objects = new Map<string, Service[]>();
  for (const each of services) {
    const object = describe(each);
    objects.set(object, [...(objects.get(object) ?? []), each]);
  }
  return [...objects.values()];
}

const serviceForClient = query(
  "explain.serviceForClient",
  (q, hostname: string): { readonly scope: ScopeRef; readonly scoped: ScopedService | undefined } => {
    const scope = scopeOf(q);
    return { scope, scoped: q.call(serviceInScope, { scope, hostname }) };
  },
);

function reasonNotExported(view: View<Proxy>, { id }: Service): string | undefined {
  const client = view.client.namespace;
  const exportedTo = view.call(serviceHeader, id)?.exportedTo;
  return exportedTo === undefined || isExportedTo(exportedTo, client)
    ? undefined
    : `is not exported to namespace ${client}`;
}

/**
 * Of several declarations of a host in one namespace, one defines the service and all contribute endpoints: one that is
 * exported to named namespaces, else the oldest. Ports of the others are merged only if they are alike.
 */
function reasonInSameNamespace(view: View<Proxy>, ignored: Service, used: Service): string {
  const isPublic = (id: string): boolean => view.call(serviceHeader, id)?.exportedTo.everyone ?? true;
  const precedence =
    used.registry === "Kubernetes" && ignored.registry !== "Kubernetes"
      ? "a Kubernetes Service takes precedence"
      : !isPublic(used.id) && isPublic(ignored.id)
        ? "a declaration that is exported to named namespaces takes precedence over a public one, whatever their age"
        : "the oldest declaration takes precedence";
  const lost = ignored.ports
    .map(({ number }) => number)
    .filter((port) => !used.ports.some(({ number }) => number === port));
  const obstacles = mergeObstacles(used, ignored);
  const unmerged =
    lost.length > 0 && obstacles.length > 0
      ? `; its ports (${lost.join(", ")}) are not merged, because it differs in ${obstacles.join(" and ")}`
      : "";
  return `declares ${ignored.hostname} like ${describe(used)} in the same namespace: ${precedence}, and this one only contributes endpoints${unmerged}`;
}

/** Checks in the order in which services are selected (pilot/pkg/model/sidecar.go, selectServices). */
function reasonInOtherNamespace(view: View<Proxy>, scope: ScopeRef, ignored: Service, used: Service): string {
  const client = view.client.namespace;
  const notExported = reasonNotExported(view, ignored);
  if (notExported !== undefined) return notExported;
  const overridden = `is overridden by ${describe(used)} for ${ignored.hostname}`;
  if (used.namespace === client) return `${overridden}: services in the client's own namespace take precedence`;
  if (ignored.namespace === client)
    return `${overridden}: Sidecar ${scope.sidecar} does not import it from namespace ${ignored.namespace}`;
  if (used.registry === "Kubernetes" && ignored.registry !== "Kubernetes")
    return `${overridden}: a Kubernetes Service takes precedence over ServiceEntries`;
  if (scope.sidecar !== undefined)
    return `${overridden}: of the services that Sidecar ${scope.sidecar} imports, the oldest takes precedence`;
  return `${overridden}, which takes precedence by age, name and namespace`;
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

/** The field that declares the host; a Service has the host of its name. */
function hostField({ registry }: Service, host: string): string {
  return registry === "External" ? `spec.hosts (${host})` : "metadata.name";
}
