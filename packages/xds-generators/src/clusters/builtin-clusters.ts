import { create } from "@bufbuild/protobuf";
import { Cluster_DiscoveryType, Cluster_LbPolicy } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { BindConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/address";
import { HttpProtocolOptionsSchema } from "@istiod/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options";
import { query, type QueryContext } from "@istiod/incremental";
import { ipMode, mesh } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { packAny } from "../envoy/any.js";
import {
  blackHoleCluster,
  externalSdsCluster,
  inboundPassthroughCluster,
  passthroughCluster,
} from "../resource-names.js";
import { type ClusterDraft, clusterResource, httpProtocolOptionsKey, newClusterDraft } from "./cluster-draft.js";
import { addDestinationName, addMetadataExchange } from "./cluster-metadata.js";
import { applyConnectionPool } from "./traffic-policy/connection-pool.js";
import { passthroughProtocolOptions } from "./traffic-policy/upstream-protocol.js";

/**
 * Source addresses that iptables redirection excludes, so that connections from the proxy to its workload are not
 * captured again.
 */
export const inboundBindIpv4 = "127.0.0.6";
export const inboundBindIpv6 = "::6";

/** The cluster that drops traffic: it has no endpoints. */
export const blackHole = query("blackHoleCluster", (q): Resource => {
  const connectTimeout = mesh(q).connectTimeout;
  const { cluster } = newClusterDraft({
    name: blackHoleCluster,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
    ...(connectTimeout && { connectTimeout }),
  });
  addDestinationName(q, cluster);
  return clusterResource(cluster);
});

/**
 * The cluster for outbound traffic to unknown destinations: passes it to the original destination, within the mesh's
 * default connection pool.
 */
export const passthrough = query("passthroughCluster", (q): Resource => {
  const { cluster } = passthroughDraft(q);
  addMetadataExchange(q, cluster);
  addDestinationName(q, cluster);
  return clusterResource(cluster);
});

/** The cluster for inbound traffic to ports without a service: passes it to the workload, bypassing redirection. */
export const inboundPassthrough = query("inboundPassthroughCluster", (q): Resource => {
  const { cluster } = passthroughDraft(q);
  const mode = q.ask(ipMode);
  cluster.name = inboundPassthroughCluster;
  addDestinationName(q, cluster);
  cluster.upstreamBindConfig = create(BindConfigSchema, {
    sourceAddress: sourceAddress(mode === "IPv6" ? inboundBindIpv6 : inboundBindIpv4),
    ...(mode === "Dual" && { extraSourceAddresses: [{ address: sourceAddress(inboundBindIpv6) }] }),
  });
  return clusterResource(cluster);
});

/** An external SDS server that the proxy reaches on a Unix domain socket. */
export const externalSds = query("externalSdsCluster", (q): Resource => {
  const connectTimeout = mesh(q).connectTimeout;
  const pipe = { path: "./var/run/secrets/credential-uds/socket" };
  return clusterResource(
    newClusterDraft({
      name: externalSdsCluster,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
      ...(connectTimeout && { connectTimeout }),
      loadAssignment: {
        clusterName: externalSdsCluster,
        endpoints: [
          {
            lbEndpoints: [
              { hostIdentifier: { case: "endpoint", value: { address: { address: { case: "pipe", value: pipe } } } } },
            ],
          },
        ],
      },
      typedExtensionProtocolOptions: {
        [httpProtocolOptionsKey]: packAny(HttpProtocolOptionsSchema, {
          upstreamProtocolOptions: {
            case: "explicitHttpConfig",
            value: { protocolConfig: { case: "http2ProtocolOptions", value: {} } },
          },
        }),
      },
    }).cluster,
  );
});

/** A source address with any port. */
export function sourceAddress(address: string): {
  address: string;
  portSpecifier: { case: "portValue"; value: number };
} {
  return { address, portSpecifier: { case: "portValue", value: 0 } };
}

function passthroughDraft(q: QueryContext): ClusterDraft {
  const draft = newClusterDraft({
    name: passthroughCluster,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.ORIGINAL_DST },
    lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
    typedExtensionProtocolOptions: { [httpProtocolOptionsKey]: passthroughProtocolOptions(q) },
  });
  applyConnectionPool(q, draft, mesh(q).defaultTrafficPolicy?.connectionPool);
  return draft;
}
