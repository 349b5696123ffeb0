import { deepEqual } from "node:assert/strict";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import { ClusterSchema, Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { HttpProtocolOptionsSchema } from "@istiod/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options";
import { registry } from "@istiod/envoy-api/registry";

const http2 = create(HttpProtocolOptionsSchema, {
  upstreamProtocolOptions: {
    case: "explicitHttpConfig",
    value: { protocolConfig: { case: "http2ProtocolOptions", value: {} } },
  },
});
const bytes = toBinary(
  ClusterSchema,
  create(ClusterSchema, {
    name: "cart",
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STRICT_DNS },
    dnsJitter: create(DurationSchema, { nanos: 100_000_000 }),
    typedExtensionProtocolOptions: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": anyPack(HttpProtocolOptionsSchema, http2),
    },
  }),
);
// The registry decodes every `Any`.
deepEqual(toJson(ClusterSchema, fromBinary(ClusterSchema, bytes), { registry }), {
  name: "cart",
  type: "STRICT_DNS",
  typedExtensionProtocolOptions: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
      "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
      explicitHttpConfig: { http2ProtocolOptions: {} },
    },
  },
  dnsJitter: "0.100s",
});
