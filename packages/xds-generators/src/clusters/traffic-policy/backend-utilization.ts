import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { type LoadBalancingPolicy, LoadBalancingPolicySchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClientSideWeightedRoundRobinSchema } from "@istiod/envoy-api/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3/client_side_weighted_round_robin";
import type { LoadBalancerSettings_BackendUtilizationLB as BackendUtilization } from "@istiod/istio-api/networking/v1alpha3/destination_rule";

/** `metric_names_for_computing_utilization`, which the message type does not have yet. */
const metricNamesNumber = 7;
const lengthDelimited = 2;

/**
 * Returns Envoy's client-side weighted round robin. Cluster settings that only apply to its built-in policies, such as
 * locality weights, have no effect then. Source: DestinationRule, `LoadBalancerSettings.BackendUtilizationLB`.
 */
export function backendUtilizationPolicy(settings: BackendUtilization): LoadBalancingPolicy {
  const { weightStabilizationPeriod, weightExpirationPeriod, weightUpdatePeriod } = settings;
  const policy = create(ClientSideWeightedRoundRobinSchema, {
    ...(weightStabilizationPeriod && { blackoutPeriod: weightStabilizationPeriod }),
    ...(weightExpirationPeriod && { weightExpirationPeriod }),
    ...(weightUpdatePeriod && { weightUpdatePeriod }),
    // Envoy's default is 1.
    errorUtilizationPenalty: settings.errorUtilizationPenaltyPercent / 100,
  });
  const names = settings.metricNamesForComputingUtilization;
  if (names.length > 0) policy.$unknown = names.map(metricName);
  return create(LoadBalancingPolicySchema, {
    policies: [
      {
        typedExtensionConfig: {
          name: "envoy.load_balancing_policies.client_side_weighted_round_robin",
          typedConfig: anyPack(ClientSideWeightedRoundRobinSchema, policy),
        },
      },
    ],
  });
}

function metricName(value: string) {
  // The length and the bytes of a string: those of StringValue without its tag.
  const data = toBinary(StringValueSchema, create(StringValueSchema, { value })).subarray(1);
  return { no: metricNamesNumber, wireType: lengthDelimited, data };
}
