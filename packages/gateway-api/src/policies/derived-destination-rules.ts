import { create } from "@bufbuild/protobuf";
import {
  backends,
  backendTlsPolicies,
  backendTlsPoliciesByTarget,
  backendTrafficPolicies,
  backendTrafficPoliciesByTarget,
  type DestinationRuleObject,
  serviceEntriesByHost,
} from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import {
  type ClientTLSSettings,
  ConnectionPoolSettings_HTTPSettings_H2UpgradePolicy as H2UpgradePolicy,
  ConnectionPoolSettingsSchema,
  DestinationRuleSchema,
  LoadBalancerSettingsSchema,
  type TrafficPolicy,
  type TrafficPolicy_PortTrafficPolicy,
  TrafficPolicy_PortTrafficPolicySchema,
  type TrafficPolicy_RetryBudget,
  TrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { features } from "../settings/features.js";
import { tlsOfBackend } from "./backend-resource.js";
import { targetsOfTlsPolicy, tlsOfPolicy } from "./backend-tls-policy.js";
import { retryBudgetOf, targetsOfTrafficPolicy } from "./backend-traffic-policy.js";
import { grpcPorts, type TargetHost } from "./grpc-ports.js";
import { policyTarget, type PolicyTarget } from "./policy-target.js";
import { compareTexts, gatewayApiSuffix } from "../names.js";

/**
 * The DestinationRules that stand for policies of a host's backends, one for each object that declares the host, in its
 * namespace. They read the policies of these objects only. Source: `DestinationRuleCollection` in
 * pilot/pkg/config/kube/gateway/backend_policies.go.
 */
export const backendPolicyRules = query(
  "gatewayApiBackendPolicyRules",
  (q, host: string): readonly DestinationRuleObject[] => {
    if (!features.enabled(q)) return [];
    return targetsDeclaring(q, host)
      .filter((target) => hasPolicies(q, target))
      .sort((a, b) => compareTexts(targetKey(a), targetKey(b)))
      .flatMap((target) => q.call(derivedRule, { target, host }) ?? []);
  },
);

/** XBackends by the host that they declare. */
const backendsByHost = index(backends, "byHostForPolicies", ({ spec: { externalHostname } }) =>
  externalHostname === undefined ? [] : [externalHostname],
);

/** All policies of backends, in one bucket. */
const allTlsPolicies = index(backendTlsPolicies, "all", () => [""]);
const allTrafficPolicies = index(backendTrafficPolicies, "all", () => [""]);
const allBackends = index(backends, "all", () => [""]);

/** Reports whether there is any policy of backends. If there is none, no host has rules that stand for one. */
export const hasBackendPolicies = query("hasGatewayApiBackendPolicies", (q): boolean => {
  if (!features.enabled(q)) return false;
  if (q.members(allTlsPolicies, "").length > 0) return true;
  return features.alpha(q) && [allTrafficPolicies, allBackends].some((all) => q.members(all, "").length > 0);
});

/** Returns the objects of the config cluster that declare a host, and that policies can apply to. */
function targetsDeclaring(q: QueryContext, host: string): readonly PolicyTarget[] {
  const entries = q.read(serviceEntriesByHost, host).map(({ namespace, name }) => ({ namespace, name }));
  const resources = features.alpha(q) ? q.read(backendsByHost, host) : [];
  return [
    ...serviceOfHost(q, host),
    ...entries.map((entry): PolicyTarget => ({ kind: "ServiceEntry", ...entry })),
    ...resources.map(({ namespace, name }): PolicyTarget => ({ kind: "XBackend", namespace, name })),
  ];
}

/** Returns the Service that a host is of by its name, whether or not it exists. */
function serviceOfHost(q: QueryContext, host: string): readonly PolicyTarget[] {
  const suffix = `.svc.${features.domain(q)}`;
  const [name, namespace, ...rest] = host.endsWith(suffix) ? host.slice(0, -suffix.length).split(".") : [];
  return name === undefined || namespace === undefined || rest.length > 0 ? [] : [{ kind: "Service", namespace, name }];
}

/** Reports whether policies name a target. An XBackend has settings of its own. */
function hasPolicies(q: QueryContext, target: PolicyTarget): boolean {
  if (target.kind === "XBackend" || q.read(backendTlsPoliciesByTarget, targetKey(target)).length > 0) return true;
  return features.alpha(q) && q.read(backendTrafficPoliciesByTarget, targetKey(target)).length > 0;
}

/** Hosts to which policies apply. */
export const backendPolicyHosts = query("gatewayApiBackendPolicyHosts", (q): readonly string[] =>
  features.enabled(q) ? [...new Set(policyHosts(q).map(({ host }) => host))].sort() : [],
);

function policyHosts(q: QueryContext): readonly TargetHost[] {
  return [
    ...q.keys(backendTlsPolicies).flatMap((key) => q.call(hostsOfTlsPolicy, key)),
    ...(features.alpha(q)
      ? [
          ...q.keys(backendTrafficPolicies).flatMap((key) => q.call(hostsOfTrafficPolicy, key)),
          ...q.keys(backends).flatMap((key) => q.call(hostsOfBackend, key)),
        ]
      : []),
  ];
}

const hostsOfTlsPolicy = query("gatewayApiHostsOfTlsPolicy", (q, key: string): readonly TargetHost[] =>
  q
    .call(targetsOfTlsPolicy, key)
    .flatMap(({ target, hosts, fault }) =>
      target === undefined || fault !== undefined ? [] : hosts.map((host) => ({ target, host })),
    ),
);

const hostsOfTrafficPolicy = query("gatewayApiHostsOfTrafficPolicy", (q, key: string): readonly TargetHost[] =>
  q
    .call(targetsOfTrafficPolicy, key)
    .flatMap(({ target, hosts }) => (target === undefined ? [] : hosts.map((host) => ({ target, host })))),
);

const hostsOfBackend = query("gatewayApiHostsOfBackend", (q, key: string): readonly TargetHost[] => {
  const backend = q.read(backends, key);
  const hostname = backend?.spec.externalHostname;
  if (backend === undefined || hostname === undefined || q.call(tlsOfBackend, key).tls === undefined) return [];
  return [{ target: { kind: "XBackend", namespace: backend.namespace, name: backend.name }, host: hostname }];
});

/** A part of a DestinationRule that a policy declares. */
interface PolicyPart {
  /** For example `BackendTLSPolicy/namespace.name`. */
  readonly source: string;
  readonly creationTimestamp: number;
  readonly name: string;
  readonly tls?: ClientTLSSettings;
  /** Name of the port that TLS settings are for. Absent: all ports. */
  readonly section?: string;
  /** Number of the port that TLS settings are for. */
  readonly port?: number;
  /** Reports whether the policy is an XBackendTrafficPolicy, which sets a load balancer without fields. */
  readonly setsLoadBalancer?: true;
  readonly retryBudget?: TrafficPolicy_RetryBudget;
}

/** The DestinationRule of a host of a target; undefined if no policy applies to it. */
const derivedRule = query(
  "gatewayApiDerivedDestinationRule",
  (q, { target, host }: TargetHost): DestinationRuleObject | undefined => {
    const parts = partsOf(q, target, host);
    if (parts.length === 0) return undefined;
    return {
      kind: "DestinationRule",
      namespace: target.namespace,
      name: ruleName(target, host),
      labels: {},
      annotations: { "internal.istio.io/parents": [...new Set(parts.map(({ source }) => source))].join(",") },
      creationTimestamp: 0,
      cluster: "",
      spec: create(DestinationRuleSchema, {
        host,
        trafficPolicy: trafficPolicyOf(parts, portNumbers(q, target), q.call(grpcPorts, { target, host })),
      }),
    };
  },
);

/** Returns the name of a rule. Those of several hosts of an object differ. */
function ruleName({ kind, name }: PolicyTarget, host: string): string {
  return kind === "Service"
    ? `${name}~${gatewayApiSuffix}`
    : `${name}~${host.replaceAll(".", "-")}~${gatewayApiSuffix}`;
}

/** Returns what policies declare for a target, the oldest first. */
function partsOf(q: QueryContext, target: PolicyTarget, host: string): readonly PolicyPart[] {
  const parts =
    target.kind === "XBackend"
      ? backendParts(q, target)
      : [...tlsParts(q, target, host), ...(features.alpha(q) ? trafficParts(q, target, host) : [])];
  return [...parts].sort((a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1));
}

const targetKey = ({ kind, namespace, name }: PolicyTarget): string => `${namespace}/${kind}/${name}`;

function tlsParts(q: QueryContext, target: PolicyTarget, host: string): readonly PolicyPart[] {
  return q.read(backendTlsPoliciesByTarget, targetKey(target)).flatMap(({ namespace, name, creationTimestamp }) => {
    const tls = q.call(tlsOfPolicy, `${namespace}/${name}`)?.settings;
    const targets = q
      .call(targetsOfTlsPolicy, `${namespace}/${name}`)
      .filter((each) => each.fault === undefined && each.ref.name === target.name && each.hosts.includes(host))
      .filter((each) => each.target?.kind === target.kind);
    const source = `BackendTLSPolicy/${namespace}.${name}`;
    return tls === undefined
      ? []
      : targets.map(({ ref: { sectionName } }) => ({
          source,
          creationTimestamp,
          name,
          tls,
          ...(sectionName !== undefined && { section: sectionName }),
        }));
  });
}

function trafficParts(q: QueryContext, target: PolicyTarget, host: string): readonly PolicyPart[] {
  return q.read(backendTrafficPoliciesByTarget, targetKey(target)).flatMap(({ namespace, name, creationTimestamp }) => {
    const key = `${namespace}/${name}`;
    const applies = q
      .call(targetsOfTrafficPolicy, key)
      .some((each) => each.target?.name === target.name && each.hosts.includes(host));
    const retryBudget = q.call(retryBudgetOf, key);
    return applies
      ? [
          {
            source: `XBackendTrafficPolicy/${namespace}.${name}`,
            creationTimestamp,
            name,
            setsLoadBalancer: true as const,
            ...(retryBudget && { retryBudget }),
          },
        ]
      : [];
  });
}

function backendParts(q: QueryContext, { namespace, name }: PolicyTarget): readonly PolicyPart[] {
  const key = `${namespace}/${name}`;
  const backend = q.read(backends, key);
  const tls = q.call(tlsOfBackend, key).tls?.settings;
  if (backend === undefined || tls === undefined) return [];
  const { creationTimestamp, spec } = backend;
  return [{ source: `XBackend/${namespace}.${name}`, creationTimestamp, name, tls, port: spec.port }];
}

/** Returns the numbers of a target's ports by name. */
function portNumbers(q: QueryContext, { kind, namespace, name }: PolicyTarget): ReadonlyMap<string, number> {
  if (kind === "XBackend") return new Map();
  const group = kind === "Service" ? "" : "networking.istio.io";
  const found = policyTarget(q, { group, kind, name }, namespace);
  return new Map("fault" in found ? [] : found.ports.map((port) => [port.name, port.number]));
}

const http2 = create(ConnectionPoolSettingsSchema, { http: { h2UpgradePolicy: H2UpgradePolicy.UPGRADE } });

/**
 * Merges what policies declare. Of several that declare the same field, the first one applies. Backends of GRPCRoutes
 * have HTTP/2, which TLS would not negotiate otherwise where the port does not state its protocol.
 */
function trafficPolicyOf(
  parts: readonly PolicyPart[],
  ports: ReadonlyMap<string, number>,
  ofGrpc: readonly number[],
): TrafficPolicy {
  const tls = parts.find(
    (part) => part.section === undefined && part.port === undefined && part.tls !== undefined,
  )?.tls;
  const retryBudget = parts.find((part) => part.retryBudget !== undefined)?.retryBudget;
  const byPort = new Map<number, TrafficPolicy_PortTrafficPolicy>();
  for (const part of parts) {
    const number = part.port ?? (part.section === undefined ? undefined : ports.get(part.section));
    if (number === undefined || part.tls === undefined || byPort.has(number)) continue;
    byPort.set(number, create(TrafficPolicy_PortTrafficPolicySchema, { port: { number }, tls: part.tls }));
  }
  for (const number of ofGrpc) {
    const own =
      byPort.get(number) ?? create(TrafficPolicy_PortTrafficPolicySchema, { port: { number }, ...(tls && { tls }) });
    if (own.tls !== undefined) byPort.set(number, Object.assign(own, { connectionPool: http2 }));
  }
  return create(TrafficPolicySchema, {
    ...(tls && { tls }),
    ...(parts.some(({ setsLoadBalancer }) => setsLoadBalancer) && { loadBalancer: create(LoadBalancerSettingsSchema) }),
    ...(retryBudget && { retryBudget }),
    portLevelSettings: [...byPort.values()].sort((a, b) => (a.port?.number ?? 0) - (b.port?.number ?? 0)),
  });
}
