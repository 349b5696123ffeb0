import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Cluster, Cluster_DnsLookupFamily } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { CaresDnsResolverConfigSchema } from "@istiod/envoy-api/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver";
import type { QueryContext } from "@istiod/incremental";
import { features, ipMode, mesh } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";

type IpMode = "IPv4" | "IPv6" | "Dual";

/** Returns the address families that a client with this IP mode looks up. */
export function dnsLookupFamily(q: QueryContext, mode: IpMode): Cluster_DnsLookupFamily {
  switch (mode) {
    case "IPv4":
      return Cluster_DnsLookupFamily.V4_ONLY;
    case "IPv6":
      // There may be an IPv4 interface that Istio does not see.
      return features.additionalIpv4OutboundListener(q) ? Cluster_DnsLookupFamily.ALL : Cluster_DnsLookupFamily.V6_ONLY;
    case "Dual":
      return features.dualStack(q) ? Cluster_DnsLookupFamily.ALL : Cluster_DnsLookupFamily.V4_ONLY;
  }
}

/** Returns the DNS settings of a cluster. `race` looks up all families and uses the first connection that succeeds. */
export function dnsSettings(
  q: QueryContext,
  race: boolean,
): Pick<Cluster, "dnsLookupFamily" | "typedDnsResolverConfig" | "dnsJitter" | "respectDnsTtl" | "dnsRefreshRate"> {
  const dnsRefreshRate = mesh(q).dnsRefreshRate;
  return {
    dnsLookupFamily: race ? Cluster_DnsLookupFamily.ALL : dnsLookupFamily(q, q.ask(ipMode)),
    typedDnsResolverConfig: caresResolver({ udpMaxQueries: features.dnsCaresUdpMaxQueries(q) }),
    dnsJitter: duration(features.dnsJitter(q)),
    respectDnsTtl: true,
    ...(dnsRefreshRate && { dnsRefreshRate }),
  };
}

export function caresResolver(init: MessageInitShape<typeof CaresDnsResolverConfigSchema>): TypedExtensionConfig {
  return create(TypedExtensionConfigSchema, {
    name: "envoy.network.dns_resolver.cares",
    typedConfig: packAny(CaresDnsResolverConfigSchema, init),
  });
}
