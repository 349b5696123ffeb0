import {
  hostBucket,
  hostBuckets,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import { features, hostsOverlap, isWildcard, meshGateway, resolveHost } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { listNames } from "../../suggestions.js";

export const conflictingHostsAnalyzer: Analyzer = {
  name: "virtualservice.ConflictingMeshGatewayHostsAnalyzer",
  description: "Checks that no two VirtualServices of the mesh gateway have the same host",
  codes: ["IST0109"],
  rules: [rule(virtualServiceKind, virtualServices, checkHosts)],
};

/** The export of a VirtualService: to all namespaces or to some. */
type Reach = "all" | "some";

/** VirtualServices of the mesh gateway, indexed by reach and the {@link hostBucket} of each host. */
const byHost = index(virtualServices, "meshByHost", (object) =>
  isOfMesh(object) ? object.spec.hosts.map((host) => `${reachOf(object)} ${hostBucket(host, object.namespace)}`) : [],
);

/** VirtualServices of the mesh gateway with a wildcard host, indexed by reach and host. */
const byWildcard = index(virtualServices, "meshByWildcard", (object) =>
  isOfMesh(object) ? object.spec.hosts.filter(isWildcard).map((host) => `${reachOf(object)} ${host}`) : [],
);

function checkHosts(object: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (!isOfMesh(object)) return;
  const { namespace, name, spec } = object;
  const domain = features.domainSuffix(q);
  const hostnames = spec.hosts.map((host) => resolveHost(host, { namespace, domain }));
  for (const [i, hostname] of hostnames.entries()) {
    const path = ["spec", "hosts", i];
    const host = JSON.stringify(spec.hosts[i]);
    const others = conflicts(q, object, hostname, domain).filter(
      (other) => other.namespace !== namespace || other.name !== name,
    );
    if (others.length > 0) {
      const precedence = others.every((other) => reachOf(other) === reachOf(object))
        ? ` (by age, then name: ${nameOf(oldest([object, ...others]))})`
        : "";
      report(
        "IST0109",
        path,
        `host ${host} conflicts with VirtualService ${listNames(others.map(nameOf))}, which is for the same host at the mesh gateway; a sidecar uses only one of them${precedence}, so merge their routes into one`,
      );
    } else if (hostnames.indexOf(hostname) !== i) {
      report(
        "IST0109",
        path,
        `host ${host} conflicts with ${JSON.stringify(spec.hosts[hostnames.indexOf(hostname)])} of the same VirtualService, which is the same host; remove one of them`,
      );
    }
  }
}

/**
 * Returns the VirtualServices of the mesh gateway for a host that are visible to a namespace that also sees the object.
 */
function conflicts(
  q: QueryContext,
  object: VirtualServiceObject,
  hostname: string,
  domain: string,
): readonly VirtualServiceObject[] {
  const reach = reachOf(object);
  const same = hostBuckets(hostname, domain).flatMap((host) => q.read(byHost, `${reach} ${host}`));
  const seenTogether =
    reach === "all" ? same : same.filter((other) => scopesOf(other).some((scope) => scopesOf(object).includes(scope)));
  return [...new Set([...seenTogether, ...overlapping(q, reach === "all" ? "some" : "all", hostname, domain)])];
}

function overlapping(q: QueryContext, reach: Reach, hostname: string, domain: string): readonly VirtualServiceObject[] {
  const meets = (bucket: string): boolean =>
    bucket.startsWith(`${reach} `) && hostsOverlap(hostOfBucket(bucket.slice(reach.length + 1), domain), hostname);
  if (isWildcard(hostname))
    return q
      .keys(byHost)
      .filter(meets)
      .flatMap((bucket) => q.read(byHost, bucket));
  const exact = hostBuckets(hostname, domain).flatMap((host) => q.read(byHost, `${reach} ${host}`));
  return [
    ...exact,
    ...q
      .keys(byWildcard)
      .filter(meets)
      .flatMap((bucket) => q.read(byWildcard, bucket)),
  ];
}

function hostOfBucket(bucket: string, domain: string): string {
  const [namespace = "", name] = bucket.split("/");
  return name === undefined ? bucket : resolveHost(name, { namespace, domain });
}

function isOfMesh({ spec }: VirtualServiceObject): boolean {
  return spec.gateways.length === 0 || spec.gateways.includes(meshGateway);
}

function reachOf({ spec }: VirtualServiceObject): Reach {
  return spec.exportTo.length === 0 || spec.exportTo.includes("*") ? "all" : "some";
}

/** Returns the namespaces to which an object with reach `some` is exported. */
function scopesOf({ namespace, spec }: VirtualServiceObject): readonly string[] {
  return spec.exportTo.map((scope) => (scope === "." ? namespace : scope));
}

function nameOf({ namespace, name }: VirtualServiceObject): string {
  return `${namespace}/${name}`;
}

/** Returns the object that takes precedence in a conflict (see `virtualServiceOrder`). */
function oldest(objects: readonly [VirtualServiceObject, ...VirtualServiceObject[]]): VirtualServiceObject {
  const before = (a: VirtualServiceObject, b: VirtualServiceObject): boolean =>
    a.creationTimestamp !== b.creationTimestamp
      ? a.creationTimestamp < b.creationTimestamp
      : `${a.name} ${a.namespace}` < `${b.name} ${b.namespace}`;
  return objects.reduce((first, other) => (before(other, first) ? other : first));
}
