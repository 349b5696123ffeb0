import { create } from "@bufbuild/protobuf";
import {
  type RouteAction_HashPolicy,
  RouteAction_HashPolicySchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { LoadBalancerSettings_ConsistentHashLB as ConsistentHash } from "@istiod/istio-api/networking/v1alpha3/destination_rule";

/** Returns the hash policy of a route; undefined if routes cannot hash by the key. */
export function hashPolicy({ hashKey }: ConsistentHash): RouteAction_HashPolicy | undefined {
  switch (hashKey.case) {
    case "httpHeaderName":
      return create(RouteAction_HashPolicySchema, {
        policySpecifier: { case: "header", value: { headerName: hashKey.value } },
      });
    case "httpCookie": {
      const { name, path, ttl, attributes } = hashKey.value;
      return create(RouteAction_HashPolicySchema, {
        policySpecifier: {
          case: "cookie",
          value: {
            name,
            path,
            ...(ttl && { ttl }),
            attributes: attributes.map((attribute) => ({ name: attribute.name, value: attribute.value })),
          },
        },
      });
    }
    case "useSourceIp":
      return create(RouteAction_HashPolicySchema, {
        policySpecifier: { case: "connectionProperties", value: { sourceIp: hashKey.value } },
      });
    case "httpQueryParameterName":
      return create(RouteAction_HashPolicySchema, {
        policySpecifier: { case: "queryParameter", value: { name: hashKey.value } },
      });
    default:
      return undefined;
  }
}
