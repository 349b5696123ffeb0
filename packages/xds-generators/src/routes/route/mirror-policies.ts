import { create } from "@bufbuild/protobuf";
import type { RuntimeFractionalPercent } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  type RouteAction_RequestMirrorPolicy,
  RouteAction_RequestMirrorPolicySchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import type { QueryContext } from "@istiod/incremental";
import type { HTTPRoute, Percent } from "@istiod/istio-api/networking/v1alpha3/virtual_service";
import { features } from "@istiod/push-context";
import { fractionalPercent, runtimePercent, wholePercent } from "../../envoy/percent.js";
import { clusterNameOf, type DestinationContext } from "./destinations.js";

export function mirrorPolicies(
  q: QueryContext,
  route: HTTPRoute,
  context: DestinationContext,
): RouteAction_RequestMirrorPolicy[] {
  const mirrors = [
    ...(route.mirror === undefined
      ? []
      : [{ destination: route.mirror, share: mirrorShare(route.mirrorPercentage, route.mirrorPercent) }]),
    ...route.mirrors.map(({ destination, percentage }) => ({ destination, share: mirrorShare(percentage) })),
  ];
  return mirrors.flatMap(({ destination, share }) =>
    destination === undefined || share === undefined
      ? []
      : create(RouteAction_RequestMirrorPolicySchema, {
          cluster: clusterNameOf(destination, context),
          runtimeFraction: share,
          traceSampled: false,
          disableShadowHostSuffixAppend: features.disableShadowHostSuffix(q),
        }),
  );
}

/** Returns the share of requests that are mirrored, all by default; undefined for none. */
function mirrorShare(percentage: Percent | undefined, percent?: number): RuntimeFractionalPercent | undefined {
  if (percentage !== undefined) {
    return percentage.value > 0 ? runtimePercent(fractionalPercent(percentage.value)) : undefined;
  }
  return percent === 0 ? undefined : runtimePercent(wholePercent(percent ?? 100));
}
