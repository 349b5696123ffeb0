import { celFault } from "@istiod/config-schema";

/** The value of a label whose expression Envoy cannot compute, as Istio's proxies have it. */
const unknown = "unknown";

/**
 * Returns the format string by which Envoy computes a label of Telemetry from its CEL expression. An expression that
 * Envoy would reject with the whole listener, or that its formats cannot hold, is unknown.
 */
export function labelFormat(expression: string): string {
  return /[%\n\r]/.test(expression) || celFault(expression) !== undefined ? unknown : `%CEL(${expression})%`;
}
