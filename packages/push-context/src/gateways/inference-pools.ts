import { gatewaysOfInferencePools } from "@istiod/gateway-api";
import type { QueryContext } from "@istiod/incremental";
import { inNamespace, label } from "../proxy/facts.js";

const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** Reports whether the client is of a Gateway of the Gateway API that has routes to an InferencePool. */
export function routesToInferencePools(q: QueryContext): boolean {
  return q.call(gatewaysOfInferencePools).some((gateway) => {
    const [namespace = "", name = ""] = gateway.split("/");
    return q.ask(label, gatewayNameLabel) === name && q.ask(inNamespace, namespace);
  });
}
