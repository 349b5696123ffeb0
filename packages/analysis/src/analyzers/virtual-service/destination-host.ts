import { virtualServiceKind, type VirtualServiceObject, virtualServices } from "@istiod/config-schema";
import { index } from "@istiod/incremental";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { type DestinationHost, destinationHost, explainMissingHost } from "../../queries/destination-hosts.js";
import { listNames } from "../../suggestions.js";
import { type RouteDestination, routeDestinations } from "./destinations.js";

export const destinationHostAnalyzer: Analyzer = {
  name: "virtualservice.DestinationHostAnalyzer",
  description: "Checks that the destinations of VirtualServices exist and have the ports that are named",
  codes: ["IST0101", "IST0112", "IST0140"],
  rules: [
    rule(virtualServiceKind, virtualServices, checkDestinations),
    rule(virtualServiceKind, virtualServices, checkSubsetsAtGateway),
  ],
};

function checkDestinations({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  for (const destination of routeDestinations(spec)) {
    const { host, mirror, path } = destination;
    const reference = { host, namespace, exportTo: spec.exportTo };
    const service = q.call(destinationHost, reference);
    if (service === undefined) {
      const what = `${mirror ? "mirror " : ""}host ${JSON.stringify(host)}`;
      const why = host === "" ? "the destination names none" : explainMissingHost(q, reference);
      report("IST0101", [...path, "host"], `referenced ${what} not found: ${why}`);
    } else {
      checkPort(destination, service, report);
    }
  }
}

function checkPort(
  { host, port, path }: RouteDestination,
  { ports }: DestinationHost,
  report: AnalysisContext["report"],
): void {
  if (port === undefined) {
    if (ports.length < 2) return;
    report(
      "IST0112",
      [...path, "host"],
      `destination ${JSON.stringify(host)} names no port, but the service has ports ${listNames(ports.map(String))}; set port.number to one of them`,
    );
  } else if (!ports.includes(port)) {
    const known = ports.length === 0 ? "the service has none" : `the service has ${listNames(ports.map(String))}`;
    report(
      "IST0101",
      [...path, "port", "number"],
      `referenced host:port ${JSON.stringify(`${host}:${port}`)} not found: ${known}`,
    );
  }
}

/** VirtualServices that route one of their own hosts to a subset of that host, indexed by the host. */
const bySubsetHost = index(virtualServices, "bySubsetHost", ({ spec }) =>
  spec.http.flatMap(({ route }) =>
    route.flatMap(({ destination }) =>
      destination?.subset && spec.hosts.includes(destination.host) ? [destination.host] : [],
    ),
  ),
);

/**
 * Reports routes at a gateway without a subset whose destination has subset routes in another VirtualService. A gateway
 * does not apply the VirtualServices of the destinations to which it routes.
 */
function checkSubsetsAtGateway({ spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  if (spec.gateways.length === 0) return;
  for (const [i, { route }] of spec.http.entries()) {
    for (const [j, { destination }] of route.entries()) {
      if (destination === undefined || destination.subset !== "") continue;
      const others = q.read(bySubsetHost, destination.host).map(({ namespace, name }) => `${namespace}/${name}`);
      if (others.length === 0) continue;
      const message = `the subsets that VirtualService ${listNames(others)} selects for ${JSON.stringify(destination.host)} have no effect on requests that this route takes from a gateway; set the subset here`;
      report("IST0140", ["spec", "http", i, "route", j, "destination", "host"], message);
    }
  }
}
