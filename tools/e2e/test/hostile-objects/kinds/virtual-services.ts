import fc from "fast-check";
import { httpRoute, plainWeighted } from "./http-routes.js";
import { networking, object } from "./manifest.js";
import { cidrs, from, hosts, labels, list, ports, some } from "../values.js";

const l4Match = {
  destinationSubnets: list(cidrs),
  port: ports,
  sourceLabels: labels,
  gateways: list(from("mesh", "shop/gw")),
};
const routes = fc.oneof(
  { weight: 5, arbitrary: list(httpRoute).map((http) => ({ http })) },
  {
    weight: 1,
    arbitrary: list(
      some({ match: list(some({ ...l4Match, sniHosts: list(hosts) }, ["sniHosts"])), route: plainWeighted }, [
        "match",
        "route",
      ]),
    ).map((tlsRoutes) => ({ tls: tlsRoutes })),
  },
  {
    weight: 1,
    arbitrary: list(some({ match: list(some(l4Match)), route: plainWeighted }, ["route"])).map((tcp) => ({ tcp })),
  },
);
export const virtualService = object(
  networking,
  "VirtualService",
  fc
    .tuple(
      list(hosts),
      routes,
      from<object>({}, { gateways: ["mesh", "shop/gw"] }, { gateways: ["shop/gw"] }, { exportTo: ["*"] }),
    )
    .map(([all, route, more]) => ({ hosts: all, ...route, ...more })),
);
