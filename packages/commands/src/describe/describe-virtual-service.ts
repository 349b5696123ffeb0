import type { ResolvedVirtualService } from "@istiod/push-context";
import type { SubsetMatch } from "./describe-destination-rule.js";
import { shortName } from "./short-name.js";

type HTTPRoute = ResolvedVirtualService["spec"]["http"][number];
type HTTPMatchRequest = HTTPRoute["match"][number];
type StringMatch = NonNullable<HTTPMatchRequest["uri"]>;

/** The Service that a VirtualService is described for. */
export interface RoutedService {
  readonly host: string;
  readonly subsets: SubsetMatch;
  /** Set if a DestinationRule applies to the host. */
  readonly hasRule: boolean;
  readonly commandNamespace: string;
}

/** Describes the routes of a VirtualService that lead to a Service, and why others do not reach its Pods. */
export function describeVirtualService(
  { namespace, name, spec: { http, tcp, tls } }: ResolvedVirtualService,
  service: RoutedService,
): string {
  const routes = http.map((route) => httpFacts(route, service));
  const l4 = [...tcp, ...tls].filter(({ route }) =>
    route.some(({ destination }) => destination?.host === service.host),
  );
  const matching = routes.filter(({ isMatch }) => isMatch);
  const mismatches = routes.filter(({ isMatch }) => !isMatch).flatMap(({ facts }) => facts);
  const facts = matching.flatMap((route) => route.facts);
  const total = http.length + tcp.length + tls.length;
  const matches = matching.length + l4.length;
  const lines =
    matches === 0
      ? [
          `   WARNING: No destinations match pod subsets (checked ${total} routes)`,
          ...mismatches.map((note) => `      ${note}`),
        ]
      : [
          ...facts.map((fact) => `   ${fact}`),
          ...(matches < total ? [`   ${total - matches} additional destination(s) that will not reach this pod`] : []),
          ...(matches < total && facts.length === 0 ? mismatches.map((note) => `      ${note}`) : []),
          ...(matches === total && facts.length === 0
            ? [`   ${matches} ${http.length > 0 ? "HTTP" : "TCP"} route(s)`]
            : []),
        ];
  return [`VirtualService: ${shortName({ name, namespace }, service.commandNamespace)}`, ...lines]
    .map((line) => `${line}\n`)
    .join("");
}

interface RouteFacts {
  readonly isMatch: boolean;
  readonly facts: readonly string[];
}

function httpFacts(route: HTTPRoute, { host, subsets, hasRule }: RoutedService): RouteFacts {
  const toService: string[] = [];
  const toOthers: string[] = [];
  const mismatches: string[] = [];
  let isMatch = false;
  for (const { destination, weight } of route.route) {
    const { host: to = "", subset = "" } = destination ?? {};
    const share = weight > 0 ? ` with weight ${weight}%` : "";
    const target = `Route to host "${to}"${subset === "" ? "" : ` subset "${subset}"`}${share}`;
    if (to !== host) toOthers.push(target);
    else if (subset === "" || subsets.matching.includes(subset)) {
      isMatch = true;
      if (share !== "") toService.push(target);
    } else if (subsets.others.includes(subset))
      mismatches.push(`Route to non-matching subset ${subset} for (${describeMatches(route.match)})`);
    else
      mismatches.push(
        hasRule
          ? `Warning: Route to UNKNOWN subset ${subset}; check the DestinationRule`
          : `Warning: Route to subset ${subset} but NO DESTINATION RULE defining subsets!`,
      );
  }
  if (!isMatch) return { isMatch, facts: mismatches };
  const conditions = [...(route.fault ? ["Fault injection"] : []), ...route.match.map(describeMatch)];
  return { isMatch, facts: [...toService, ...toOthers, ...(conditions.length > 0 ? [conditions.join(", ")] : [])] };
}

function describeMatches(matches: readonly HTTPMatchRequest[]): string {
  return matches.length === 0 ? "everything" : matches.map(describeMatch).join(", ");
}

function describeMatch({ uri, ignoreUriCase, headers }: HTTPMatchRequest): string {
  const conditions = Object.entries(headers).map(([name, match]) => `${name}=${describeText(match)}`);
  return [
    "Match:",
    ...(uri ? [`${describeText(uri)}${ignoreUriCase ? " uncased" : ""}`] : []),
    ...(conditions.length > 0 ? [`when headers are ${conditions.join("; ")}`] : []),
  ].join(" ");
}

function describeText({ matchType }: StringMatch): string {
  if (matchType.case === undefined) return "*";
  if (matchType.case === "prefix") return `${matchType.value}*`;
  return matchType.case === "regex" ? `regex ${matchType.value}` : matchType.value;
}
