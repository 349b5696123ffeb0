import { create } from "@bufbuild/protobuf";
import {
  type IngressPath,
  ingresses,
  type IngressService,
  services,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { aliasedHost, service } from "@istiod/service-discovery";
import {
  type HTTPRoute,
  HTTPRouteSchema,
  type StringMatch,
  StringMatchSchema,
  VirtualServiceSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features } from "../mesh/features.js";
import { ingressGatewayName } from "./ingress-gateways.js";
import { ingressTlsOwner } from "./ingress-tls-hosts.js";
import { digestOf, ingressSuffix, isServedIngress, servedIngresses } from "./served-ingresses.js";

/** Reference to a rule of an Ingress. */
interface RuleRef {
  /** The Ingress, `namespace/name`. */
  readonly ingress: string;
  readonly index: number;
}

/** HTTP rules by host (`*` for all hosts), those of the oldest Ingress first. */
const rulesByHost = query("ingressRulesByHost", (q): Readonly<Record<string, readonly RuleRef[]>> => {
  const out = new Map<string, RuleRef[]>();
  for (const ingress of q.call(servedIngresses)) {
    for (const [index, host] of q.call(hostsOfRules, ingress).entries()) {
      if (host === undefined) continue;
      const rules = out.get(host);
      if (rules === undefined) out.set(host, [{ ingress, index }]);
      else rules.push({ ingress, index });
    }
  }
  return Object.fromEntries(out);
});

/** The host of each rule of an Ingress; undefined if the rule is not for HTTP. */
const hostsOfRules = query("hostsOfIngressRules", (q, key: string): readonly (string | undefined)[] =>
  (q.read(ingresses, key)?.spec.rules ?? []).map(({ host, paths }) => (paths === undefined ? undefined : host || "*")),
);

/**
 * Maps keys (`namespace/name`) of the generated VirtualServices to their hosts. Istio's names do not distinguish the
 * hosts `a.b` and `a-b`; the first one keeps the name, as does a VirtualService of a user.
 */
const hostsByKey = query("hostsOfIngressVirtualServices", (q): Readonly<Record<string, string>> => {
  const hosts: Record<string, string> = {};
  for (const [host, [first]] of Object.entries(q.call(rulesByHost))) {
    if (first === undefined) continue;
    const ordinary = keyOf(first, host.replaceAll(".", "-"));
    const isTaken = Object.hasOwn(hosts, ordinary) || q.read(virtualServices, ordinary) !== undefined;
    hosts[isTaken ? keyOf(first, digestOf(host, first.ingress)) : ordinary] = host;
  }
  return hosts;
});

/** Keys (`namespace/name`) of the VirtualServices generated from Ingresses, one per host. */
export const ingressVirtualServiceKeys = query("ingressVirtualServiceKeys", (q): readonly string[] =>
  Object.keys(q.call(hostsByKey)),
);

/**
 * The VirtualService generated from all Ingress rules for a host. It is bound to the Gateway of the oldest Ingress with
 * the host and to that of the Ingress whose certificate serves the host, is in the namespace of the former and has
 * creation time 0. Longer paths come first, and exact paths before
 * prefixes of the same length. Source: pilot/pkg/config/kube/ingress/virtualservices.go.
 */
export const ingressVirtualService = query(
  "ingressVirtualService",
  (q, key: string): VirtualServiceObject | undefined => {
    const host = q.call(hostsByKey)[key];
    const rules = host === undefined ? [] : (q.call(rulesByHost)[host] ?? []);
    const [first] = rules;
    if (host === undefined || first === undefined) return undefined;
    const [namespace = "", name = ""] = key.split("/");
    const http = rules
      .flatMap((rule) => rankedRoutes(q, rule))
      .sort((a, b) => b.rank - a.rank || Number(b.exact) - Number(a.exact));
    const owner = q.call(ingressTlsOwner, host);
    const bound = owner === undefined ? [first.ingress] : [...new Set([first.ingress, owner])];
    return {
      kind: "VirtualService",
      namespace,
      name,
      labels: {},
      annotations: {
        "internal.istio.io/parents": [...new Set(rules.map(({ ingress }) => parentName(ingress)))].join(","),
        "internal.istio.io/route-semantics": "ingress",
      },
      creationTimestamp: 0,
      cluster: features.clusterId(q),
      spec: create(VirtualServiceSchema, {
        hosts: [host],
        gateways: bound.map((ingress) => gatewayOf(q, ingress)),
        http: http.map(({ route }) => route),
      }),
    };
  },
);

function parentName(ingress: string): string {
  const [namespace = "", name = ""] = ingress.split("/");
  return `Ingress/${name}.${namespace}`;
}

function gatewayOf(q: QueryContext, ingress: string): string {
  const [namespace = "", name = ""] = ingress.split("/");
  return `${features.ingressNamespace(q)}/${ingressGatewayName({ namespace, name })}`;
}

interface RankedRoute {
  readonly route: HTTPRoute;
  /** Length of the path; 0 if all paths match. */
  readonly rank: number;
  readonly exact: boolean;
}

function rankedRoutes(q: QueryContext, { ingress, index }: RuleRef): readonly RankedRoute[] {
  const namespace = ingress.slice(0, ingress.indexOf("/"));
  const paths = q.read(ingresses, ingress)?.spec.rules[index]?.paths ?? [];
  return paths.flatMap((path): readonly RankedRoute[] => {
    const { service } = path;
    const port = service && portNumber(q, namespace, service);
    if (service === undefined || port === undefined) return [];
    const uri = uriMatch(path);
    const route = create(HTTPRouteSchema, {
      match: uri === undefined ? [] : [{ uri }],
      route: [
        {
          destination: { host: `${service.name}.${namespace}.svc.${features.domainSuffix(q)}`, port: { number: port } },
          weight: 100,
        },
      ],
    });
    return [{ route, rank: uri?.matchType.value?.length ?? 0, exact: uri?.matchType.case === "exact" }];
  });
}

/**
 * Returns the port number of a backend; undefined if the Service in the Ingress's namespace has no port of this name.
 * The ports of an alias (ExternalName) are those of the service that it stands for.
 */
function portNumber(q: QueryContext, namespace: string, { name, port }: IngressService): number | undefined {
  if (typeof port === "number") return port;
  const host = `${name}.${namespace}.svc.${features.domainSuffix(q)}`;
  const aliased = q.call(aliasedHost, host) === undefined ? undefined : q.call(service, `${namespace}/${host}`);
  if (aliased !== undefined) return aliased.ports.find((candidate) => candidate.name === port)?.number;
  return q
    .read(services, `${features.clusterId(q)}/${namespace}/${name}`)
    ?.spec.ports.find((candidate) => candidate.name === port)?.port;
}

/** A path of an Ingress that another one has, too. */
export interface ShadowedPath {
  /** Indexes in `spec.rules` and in the paths of the rule. */
  readonly rule: number;
  readonly path: number;
  /** `*`: all hosts. */
  readonly host: string;
  /** The Ingress (`namespace/name`) that gets the requests: the oldest with the path. */
  readonly owner: string;
}

/** The paths of an Ingress (`namespace/name`) that get no request, because an older one has the same host and path. */
export const shadowedIngressPaths = query("shadowedIngressPaths", (q, key: string): readonly ShadowedPath[] =>
  q.call(hostsOfRules, key).flatMap((host, rule) => {
    if (host === undefined || !q.call(isServedIngress, key)) return [];
    const owners = q.call(ownersOfPaths, host);
    return (q.read(ingresses, key)?.spec.rules[rule]?.paths ?? []).flatMap((path, index): readonly ShadowedPath[] => {
      const owner = owners[matchKey(path)];
      return owner === undefined || owner === key ? [] : [{ rule, path: index, host, owner }];
    });
  }),
);

/** The Ingress that gets the requests for each path of a host, by the match of the path. */
const ownersOfPaths = query("ownersOfIngressPaths", (q, host: string): Readonly<Record<string, string>> => {
  const owners: Record<string, string> = {};
  for (const { ingress, index } of q.call(rulesByHost)[host] ?? [])
    for (const path of q.read(ingresses, ingress)?.spec.rules[index]?.paths ?? []) owners[matchKey(path)] ??= ingress;
  return owners;
});

function matchKey(path: IngressPath): string {
  const { case: kind = "any", value = "" } = uriMatch(path)?.matchType ?? {};
  return `${kind} ${value}`;
}

const matchAllPaths = ["", "*", "/*", ".*"];

/**
 * Returns the match of a path; undefined if all paths match. Paths without a type are exact unless they end in `.*` or
 * `/*`.
 */
function uriMatch({ path, pathType }: IngressPath): StringMatch | undefined {
  if (pathType === "Exact") return stringMatch("exact", path);
  if (pathType === "Prefix") return stringMatch("prefix", path);
  if (matchAllPaths.includes(path)) return undefined;
  return path.endsWith(".*") || path.endsWith("/*")
    ? stringMatch("prefix", path.slice(0, -2))
    : stringMatch("exact", path);
}

function stringMatch(kind: "exact" | "prefix", value: string): StringMatch {
  return create(StringMatchSchema, { matchType: { case: kind, value } });
}

function keyOf({ ingress }: RuleRef, distinction: string): string {
  const [namespace = "", name = ""] = ingress.split("/");
  return `${namespace}/${distinction}-${name}-${ingressSuffix}`;
}
