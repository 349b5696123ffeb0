import { create, toBinary } from "@bufbuild/protobuf";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { type FilterChain, FilterChainSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { query, type QueryContext } from "@istiod/incremental";
import { clientPeerModes, label, modeOfPort } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { address } from "../envoy/address.js";
import { packAny } from "../envoy/any.js";
import { networkFilter } from "../envoy/filters.js";
import { router } from "../listeners/http/http-filters.js";
import { anyRequest } from "../routes/route/route-match.js";
import { parseServerAddress } from "./names.js";
import { serverAuthorization } from "./server-authorization.js";
import { serverTls } from "./tls-context.js";

/** The label of workloads to which clients use Istio's mutual TLS. Injection sets it. */
const tlsModeLabel = "security.istio.io/tlsMode";

/**
 * Returns the listener of a gRPC server; undefined for an invalid address. It depends on the workload's policies alone,
 * so that a server starts before it has a Service.
 */
export function serverListener(q: QueryContext, name: string): Resource | undefined {
  const bound = parseServerAddress(name);
  if (bound === undefined) return undefined;
  const listener = create(ListenerSchema, {
    name,
    address: address(bound.host, bound.port),
    filterChains: [q.call(serverFilterChain, requiresMutualTls(q, bound.port))],
  });
  return resource(name, toBinary(ListenerSchema, listener));
}

/**
 * Reports whether a server requires mutual TLS. Libraries cannot accept both it and plaintext: with PERMISSIVE, servers
 * require it if clients are told to use it, by the label of the workload.
 */
function requiresMutualTls(q: QueryContext, port: number): boolean {
  const mode = modeOfPort(q.call(clientPeerModes), port);
  return mode === "STRICT" || (mode === "PERMISSIVE" && q.ask(label, tlsModeLabel) === "istio");
}

const serverFilterChain = query("grpcServerFilterChain", (q, mutualTls: boolean): FilterChain => {
  const suffix = mutualTls ? "mtls" : "plaintext";
  const manager = packAny(HttpConnectionManagerSchema, {
    routeSpecifier: {
      case: "routeConfig",
      value: {
        name: "inbound",
        virtualHosts: [
          { domains: ["*"], routes: [{ match: anyRequest(), action: { case: "nonForwardingAction", value: {} } }] },
        ],
      },
    },
    httpFilters: [...q.call(serverAuthorization), router],
  });
  return create(FilterChainSchema, {
    name: `inbound-${suffix}`,
    filters: [networkFilter(`inbound-hcm${suffix}`, manager)],
    ...(mutualTls && { transportSocket: serverTls() }),
  });
});
