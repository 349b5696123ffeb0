import { query, type QueryContext } from "@istiod/incremental";
import { dnsNamespaceServing, egressListeners, scopeOf, type ScopeRef } from "@istiod/push-context";
import { type Failure, type Resource, type ResourcePart, resourcePart } from "@istiod/resources";
import { parseProtocol } from "@istiod/service-discovery";
import { destinationHeader, routeNameByHosts } from "../../cluster-ip-matching.js";
import { unixPrefix } from "../../envoy/address.js";
import { catchAllVirtualHost } from "../catch-all-virtual-host.js";
import { failedVirtualHosts } from "../../failed-services.js";
import {
  maxDirectResponseBytes,
  newRouteConfiguration,
  routeConfigurationOfParts,
  withFailures,
} from "../route-configuration.js";
import type { EgressPort } from "./port-services.js";
import { sidecarVirtualHosts, virtualHostByDomain } from "./sidecar-virtual-hosts.js";
import { attemptHost, encodedChunk } from "./virtual-host-chunks.js";
import { type ShadowedHost, virtualHostPlan } from "./virtual-host-plan.js";

/** The route configuration of the generic HTTP proxy, for all ports. */
export const httpProxyRoute = "http_proxy";

/** The parts of a sidecar's route configuration name. */
interface RouteName {
  /** 0 for a Unix domain socket and for the HTTP proxy. */
  readonly port: number;
  /** `host:port`: the only host, whatever requests name, because its protocol is detected at its own address. */
  readonly detectedHost?: string;
}

/** A route configuration of a sidecar's outbound listeners, by name; without virtual hosts if the name is invalid. */
export const sidecarRouteConfiguration = query("sidecarRouteConfiguration", (q, name: string): Resource => {
  const parsed = parseRouteName(name);
  if (parsed === undefined) {
    return newRouteConfiguration({ name }, []);
  }
  const settings = {
    name,
    maxDirectResponseBodySizeBytes: maxDirectResponseBytes,
    ignorePortInHostMatching: true,
    ...(routeNameByHosts(name) !== undefined && {
      vhostHeader: destinationHeader,
      requestHeadersToRemove: [destinationHeader],
    }),
  };
  const scope = scopeOf(q);
  const hosts = virtualHosts(q, scope, name, parsed);
  const configuration = routeConfigurationOfParts(
    settings,
    parsed.detectedHost === undefined ? [...hosts, resourcePart(q.call(catchAllVirtualHost, scope))] : hosts,
  );
  return withFailures(configuration, q.call(failedVirtualHosts, name));
});

/**
 * Hosts in the route configuration with this name for which a VirtualService is ignored because an older one, or the
 * service itself, has them.
 */
export const shadowedHosts = query("shadowedHosts", (q, name: string): readonly ShadowedHost[] => {
  const parsed = parseRouteName(name);
  const listener = parsed && listenerFor(q, scopeOf(q), parsed.port, name);
  return listener === undefined ? [] : q.call(virtualHostPlan, listener).shadowed;
});

/**
 * Virtual hosts in the route configuration with this name, `host:port`, that are defined twice or lost a domain to
 * another.
 */
export const duplicateDomains = query("duplicateDomains", (q, name: string): readonly string[] => {
  const parsed = parseRouteName(name);
  const listener = parsed && listenerFor(q, scopeOf(q), parsed.port, name);
  if (listener === undefined) return [];
  const { hostsWithLostDomains } = q.call(sidecarVirtualHosts, {
    ...listener,
    localNamespace: q.ask(dnsNamespaceServing, listener.port),
  });
  return [...q.call(virtualHostPlan, listener).duplicates, ...hostsWithLostDomains];
});

function virtualHosts(
  q: QueryContext,
  scope: ScopeRef,
  name: string,
  { port, detectedHost }: RouteName,
): readonly ResourcePart[] {
  const listener = listenerFor(q, scope, port, name);
  if (listener === undefined) {
    return [];
  }
  const at = { ...listener, localNamespace: q.ask(dnsNamespaceServing, listener.port) };
  if (detectedHost === undefined) {
    return q.call(sidecarVirtualHosts, at).chunks.map((chunk) => q.call(encodedChunk, chunk));
  }
  const byDomain = q.call(virtualHostByDomain, at);
  const found = [...new Set([byDomain[name], byDomain[detectedHost]].filter((host) => host !== undefined))];
  return found.map((host) => {
    const failures: Failure[] = [];
    const encoded = attemptHost(q, found.length === 1 ? { ...host, domains: ["*"] } : host, failures);
    return resourcePart(encoded ?? new Uint8Array(0), failures);
  });
}

/** Returns the egress listener of a route configuration: the first one with its port or without a port. */
function listenerFor(q: QueryContext, scope: ScopeRef, port: number, name: string): EgressPort | undefined {
  const listeners = q.call(egressListeners, scope);
  const listener = listeners.findIndex(
    (candidate) =>
      candidate.port === undefined || (candidate.port.number === port && (port !== 0 || candidate.bind === name)),
  );
  const found = listeners[listener];
  if (found === undefined) {
    return undefined;
  }
  const isProxy = found.port !== undefined && parseProtocol(found.port.protocol) === "HTTP_PROXY";
  return { scope, listener, port: isProxy ? 0 : port };
}

function parseRouteName(routeName: string): RouteName | undefined {
  const name = routeNameByHosts(routeName) ?? routeName;
  if (name === httpProxyRoute || name.startsWith(unixPrefix)) {
    return { port: 0 };
  }
  const colon = name.indexOf(":");
  const port = name.slice(colon + 1);
  if (!/^[+-]?\d+$/.test(port)) {
    return undefined;
  }
  return colon < 0 ? { port: Number(port) } : { port: Number(port), detectedHost: name.slice(0, colon) };
}
