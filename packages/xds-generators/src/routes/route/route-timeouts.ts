import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  type RouteAction,
  RouteAction_MaxStreamDurationSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";

/**
 * Sets the timeout, none by default, which also limits a request's gRPC timeout. Proxyless gRPC reads another field.
 */
export function setTimeouts(action: RouteAction, timeout: Duration = noTimeout(), proxyless = false): void {
  action.timeout = timeout;
  if (proxyless) {
    action.maxStreamDuration = create(RouteAction_MaxStreamDurationSchema, { maxStreamDuration: timeout });
  } else {
    action.maxGrpcTimeout = timeout;
  }
}

/** Returns zero, which disables a timeout in Envoy. */
export function noTimeout(): Duration {
  return create(DurationSchema);
}
