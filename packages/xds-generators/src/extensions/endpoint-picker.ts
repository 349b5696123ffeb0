import { create } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import {
  ExternalProcessorSchema,
  ExtProcPerRouteSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/ext_proc/v3/ext_proc";
import {
  ProcessingMode_BodySendMode as BodyMode,
  ProcessingMode_HeaderSendMode as HeaderMode,
} from "@istiod/envoy-api/envoy/extensions/filters/http/ext_proc/v3/processing_mode";
import { type LoadBalancingPolicy, LoadBalancingPolicySchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { OverrideHostSchema } from "@istiod/envoy-api/envoy/extensions/load_balancing_policies/override_host/v3/override_host";
import { RoundRobinSchema } from "@istiod/envoy-api/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin";
import type { EndpointPicker } from "@istiod/service-discovery";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";
import { httpFilter } from "../envoy/filters.js";
import { outboundClusterName } from "../resource-names.js";

/*
 * Endpoint pickers of InferencePools: servers that see a request and name the endpoint for it, in metadata by which the
 * cluster chooses. Sources: pilot/pkg/xds/filters/filters.go, pilot/pkg/networking/core/route/route.go and
 * cluster_builder.go.
 */

export const endpointPickerFilter = "envoy.filters.http.ext_proc";

/** Metadata that pickers and the cluster exchange. */
const metadataNamespace = "envoy.lb";
const hintKey = "x-gateway-destination-endpoint";
const servedKey = "x-gateway-destination-endpoint-served";

/** The filter for requests without a picker. Routes to InferencePools name theirs. */
export const endpointPicking = httpFilter(
  endpointPickerFilter,
  packAny(ExternalProcessorSchema, {
    grpcService: {
      targetSpecifier: { case: "envoyGrpc", value: { clusterName: "dummy" } },
      timeout: duration(10_000),
    },
    failureModeAllow: true,
    processingMode: { requestHeaderMode: HeaderMode.SKIP, responseHeaderMode: HeaderMode.SKIP },
    messageTimeout: duration(1_000_000),
    metadataOptions: {
      receivingNamespaces: { untyped: [metadataNamespace] },
      forwardingNamespaces: { untyped: [metadataNamespace] },
    },
  }),
);

/** Returns the filter's configuration for a route: the picker sees headers, bodies and trailers. */
export function endpointPickerOfRoute({ host, port, failsOpen }: EndpointPicker): Any {
  const config = create(ExtProcPerRouteSchema, {
    override: {
      case: "overrides",
      value: {
        failureModeAllow: failsOpen,
        grpcService: {
          targetSpecifier: { case: "envoyGrpc", value: { clusterName: outboundClusterName(host, port, "") } },
        },
        processingMode: {
          requestHeaderMode: HeaderMode.SEND,
          requestBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
          requestTrailerMode: HeaderMode.SEND,
          responseHeaderMode: HeaderMode.SEND,
          responseBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
          responseTrailerMode: HeaderMode.SEND,
        },
      },
    },
  });
  return anyPack(ExtProcPerRouteSchema, config);
}

const metadataKey = (key: string) => ({
  key: metadataNamespace,
  path: [{ segment: { case: "key" as const, value: key } }],
});

/** Returns the load balancing policy of an InferencePool: the endpoint that the picker names, else round robin. */
export function pickedEndpointPolicy(): LoadBalancingPolicy {
  const policy = create(OverrideHostSchema, {
    overrideHostSources: [{ metadata: metadataKey(hintKey) }],
    selectedHostKey: metadataKey(servedKey),
    fallbackPolicy: {
      policies: [
        {
          typedExtensionConfig: {
            name: "envoy.load_balancing_policies.round_robin",
            typedConfig: packAny(RoundRobinSchema),
          },
        },
      ],
    },
  });
  return create(LoadBalancingPolicySchema, {
    policies: [
      {
        typedExtensionConfig: {
          name: "envoy.load_balancing_policies.override_host",
          typedConfig: anyPack(OverrideHostSchema, policy),
        },
      },
    ],
  });
}
