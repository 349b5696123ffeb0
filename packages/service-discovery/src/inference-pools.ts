import type { QueryContext } from "@istiod/incremental";
import type { Service } from "./model/service.js";
import { settings } from "./settings/features.js";

const semanticsLabel = "internal.istio.io/service-semantics";
const poolSemantics = "inferencepool";
const label = (part: string): string => `istio.io/inferencepool-${part}`;

/** Labels of the Service that stands for an InferencePool. Source: inferencepool_collection.go in kube/gateway. */
export const inferencePoolLabels = {
  semantics: semanticsLabel,
  pool: label("name"),
  pickerService: label("extension-service"),
  pickerPort: label("extension-port"),
  pickerFailureMode: label("extension-failure-mode"),
} as const;

/** The value of the label of semantics. */
export const inferencePoolSemantics = poolSemantics;

/** Reports whether a Service stands for an InferencePool: the endpoints of all its ports are one cluster. */
export function isInferencePool({ labels }: Pick<Service, "labels">): boolean {
  return labels[semanticsLabel] === poolSemantics;
}

/** The server that picks an endpoint of an InferencePool for each request. */
export interface EndpointPicker {
  readonly host: string;
  readonly port: number;
  /** Requests go to any endpoint if the picker does not answer. */
  readonly failsOpen: boolean;
}

/** Returns the endpoint picker of the Service that stands for an InferencePool; undefined if its labels lack one. */
export function endpointPickerOf(
  q: QueryContext,
  { labels, namespace }: Pick<Service, "labels" | "namespace">,
): EndpointPicker | undefined {
  const { pickerService, pickerPort, pickerFailureMode } = inferencePoolLabels;
  const [service = "", port = "", failureMode = ""] = [pickerService, pickerPort, pickerFailureMode].map(
    (name) => labels[name] ?? "",
  );
  if (service === "" || !/^\d+$/.test(port) || failureMode === "") return undefined;
  return {
    host: `${service}.${namespace}.svc.${settings.domain(q)}`,
    port: Number(port),
    failsOpen: failureMode === "FailOpen",
  };
}
