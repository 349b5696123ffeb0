import { create } from "@bufbuild/protobuf";
import {
  type IngressPath,
  ingresses,
  type IngressService,
  services,
  type VirtualServiceObject,
} from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import {
  type HTTPRoute,
  HTTPRouteSchema,
  type StringMatch,
  StringMatchSchema,
  VirtualServiceSchema,
} from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features } from "../mesh/features.js";
import { ingressGatewayName } from "./ingress-gateways.js";
import { ingressSuffix, servedIngresses } from "./served-ingresses.js";

/** One rule of one Ingress, whose paths are read apart. */
interface RuleRef {
  /** The Ingress, `namespace/name`. */
  readonly ingress: string;
  readonly index: number;
}

/** Rules for HTTP by their host (`*` for every host), the oldest Ingress's first. */
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

/** The host of each rule of an Ingress; undefined where the rule is not for HTTP. */
const hostsOfRules = query("hostsOfIngressRules", (q, key: string): readonly (string | undefined)[] =>
  (q.read(ingresses, key)?.spec.rules ?? []).map(({ host, paths }) => (paths === undefined ? undefined : host || "*")),
);

/** The host that each VirtualService (`namespace/name`) which stands for rules of Ingresses is for. */
const hostOfKey = query("hostsOfIngressVirtualServices", (q): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(q.call(rulesByHost)).flatMap(([host, [first]]) =>
      first === undefined ? [] : [[keyOf(host, first), host]],
    ),
  ),
);

/** Keys (`namespace/name`) of the VirtualServices that stand for rules of Ingresses: one for each host. */
export const ingressVirtualServiceKeys = query("ingressVirtualServiceKeys", (q): readonly string[] =>
  Object.keys(q.call(hostOfKey)),
);

/**
 * The VirtualService that stands for all rules for a host, of whatever Ingress: bound to the Gateway of the oldest
 * one's Ingress, in its namespace and without age. Longer paths come first, and exact ones before prefixes of their
 * length. Source: pilot/pkg/config/kube/ingress/virtualservices.go.
 */
export const ingressVirtualService = query(
  "ingressVirtualService",
  (q, key: string): VirtualServiceObject | undefined => {
    const host = q.call(hostOfKey)[key];
    const rules = host === undefined ? [] : (q.call(rulesByHost)[host] ?? []);
    const [first] = rules;
    if (host === undefined || first === undefined) return undefined;
    const [namespace = "", name = ""] = key.split("/");
    const http = rules
      .flatMap((rule) => routesOf(q, rule))
      .sort((a, b) => b.rank - a.rank || Number(b.exact) - Number(a.exact));
    const [ingressNamespace = "", ingressName = ""] = first.ingress.split("/");
    return {
      kind: "VirtualService",
      namespace,
      name,
      labels: {},
      annotations: { "internal.istio.io/route-semantics": "ingress" },
      creationTimestamp: 0,
      cluster: features.clusterId(q),
      spec: create(VirtualServiceSchema, {
        hosts: [host],
        gateways: [
          `${features.ingressNamespace(q)}/${ingressGatewayName({ namespace: ingressNamespace, name: ingressName })}`,
        ],
        http: http.map(({ route }) => route),
      }),
    };
  },
);

interface RankedRoute {
  readonly route: HTTPRoute;
  /** Length of the path; 0 where every path matches. */
  readonly rank: number;
  readonly exact: boolean;
}

function routesOf(q: QueryContext, { ingress, index }: RuleRef): readonly RankedRoute[] {
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

/** The port of a backend; undefined where its Service, in the Ingress's namespace, has none of the name. */
function portNumber(q: QueryContext, namespace: string, { name, port }: IngressService): number | undefined {
  if (typeof port === "number") return port;
  return q
    .read(services, `${features.clusterId(q)}/${namespace}/${name}`)
    ?.spec.ports.find((candidate) => candidate.name === port)?.port;
}

const everyPath = ["", "*", "/*", ".*"];

/** Paths without a type are exact unless they end in `.*` or `/*`. */
function uriMatch({ path, pathType }: IngressPath): StringMatch | undefined {
  if (pathType === "Exact") return stringMatch("exact", path);
  if (pathType === "Prefix") return stringMatch("prefix", path);
  if (everyPath.includes(path)) return undefined;
  return path.endsWith(".*") || path.endsWith("/*")
    ? stringMatch("prefix", path.slice(0, -2))
    : stringMatch("exact", path);
}

function stringMatch(kind: "exact" | "prefix", value: string): StringMatch {
  return create(StringMatchSchema, { matchType: { case: kind, value } });
}

function keyOf(host: string, { ingress }: RuleRef): string {
  const [namespace = "", name = ""] = ingress.split("/");
  return `${namespace}/${host.replaceAll(".", "-")}-${name}-${ingressSuffix}`;
}
