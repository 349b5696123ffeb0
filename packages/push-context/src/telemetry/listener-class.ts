import { WorkloadMode } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";

/** Class of a listener by the type of its proxy and its direction. */
export type ListenerClass = "sidecar-inbound" | "sidecar-outbound" | "gateway";

/** Returns the side of a request that listeners of this class observe. */
export function workloadMode(listener: ListenerClass): WorkloadMode.CLIENT | WorkloadMode.SERVER {
  return listener === "sidecar-inbound" ? WorkloadMode.SERVER : WorkloadMode.CLIENT;
}
