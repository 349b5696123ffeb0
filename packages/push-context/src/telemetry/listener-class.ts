import { WorkloadMode } from "@istiod/istio-api/telemetry/v1alpha1/telemetry";

/** Where a listener stands. */
export type ListenerClass = "sidecar-inbound" | "sidecar-outbound" | "gateway";

/** Whose side of a request is observed there. */
export function modeOfClass(listener: ListenerClass): WorkloadMode.CLIENT | WorkloadMode.SERVER {
  return listener === "sidecar-inbound" ? WorkloadMode.SERVER : WorkloadMode.CLIENT;
}
