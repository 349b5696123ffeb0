import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  type RouteAction,
  RouteAction_MaxStreamDurationSchema,
} from "@istiod/envoy-api/envoy/config/route/v3/route_components";

/** No timeout unless asked; a request's own gRPC timeout is heeded up to that. gRPC applications read another field. */
export function setTimeouts(action: RouteAction, timeout: Duration = noTimeout(), proxyless = false): void {
  action.timeout = timeout;
  if (proxyless) {
    action.maxStreamDuration = create(RouteAction_MaxStreamDurationSchema, { maxStreamDuration: timeout });
  } else {
    action.maxGrpcTimeout = timeout;
  }
}

/** Zero, which to Envoy is no limit. */
export function noTimeout(): Duration {
  return create(DurationSchema);
}
