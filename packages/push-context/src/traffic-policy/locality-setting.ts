import { create } from "@bufbuild/protobuf";
import {
  type LoadBalancerSettings,
  type LocalityLoadBalancerSetting,
  LocalityLoadBalancerSettingSchema,
  type ZoneAwareLoadBalancerSetting,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { TrafficDistribution } from "@istiod/service-discovery";

/** Locality load balancing of a client's requests. */
export type LocalitySetting =
  | {
      readonly kind: "locality";
      readonly setting: LocalityLoadBalancerSetting;
      /** True if failover does not require outlier detection and uses the health that istiod reports. */
      readonly forceFailover: boolean;
    }
  | { readonly kind: "zoneAware"; readonly setting: ZoneAwareLoadBalancerSetting };

/** MeshConfig's settings of locality load balancing. */
export interface MeshLocality {
  readonly localityLbSetting?: LocalityLoadBalancerSetting | undefined;
  readonly zoneAwareLbSetting?: ZoneAwareLoadBalancerSetting | undefined;
}

/**
 * Returns the locality setting of the policy, else of the service (`trafficDistribution`), else of the mesh; undefined
 * if there is none or it is disabled. Source: pilot/pkg/networking/core/loadbalancer, GetEffectiveLbSetting.
 */
export function effectiveLocalitySetting(
  mesh: MeshLocality,
  policy: LoadBalancerSettings | undefined,
  distribution: TrafficDistribution,
): LocalitySetting | undefined {
  if (policy?.zoneAwareLbSetting !== undefined) return { kind: "zoneAware", setting: policy.zoneAwareLbSetting };
  if (policy?.localityLbSetting !== undefined) return ifEnabled(policy.localityLbSetting);
  const preferred = preferences[distribution];
  if (preferred !== undefined) return { kind: "locality", setting: preferred, forceFailover: true };
  if (mesh.zoneAwareLbSetting !== undefined) return { kind: "zoneAware", setting: mesh.zoneAwareLbSetting };
  return mesh.localityLbSetting === undefined ? undefined : ifEnabled(mesh.localityLbSetting);
}

function ifEnabled(setting: LocalityLoadBalancerSetting): LocalitySetting | undefined {
  return setting.enabled === false ? undefined : { kind: "locality", setting, forceFailover: false };
}

const network = "topology.istio.io/network";
const region = "topology.kubernetes.io/region";
const zone = "topology.kubernetes.io/zone";
const subzone = "topology.istio.io/subzone";
const node = "kubernetes.io/hostname";

const preferences: Readonly<Record<TrafficDistribution, LocalityLoadBalancerSetting | undefined>> = {
  Any: undefined,
  PreferSameZone: create(LocalityLoadBalancerSettingSchema, {
    enabled: true,
    failoverPriority: [network, region, zone],
  }),
  PreferSameNode: create(LocalityLoadBalancerSettingSchema, {
    enabled: true,
    failoverPriority: [network, region, zone, subzone, node],
  }),
};
