import { kubernetesGateways } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { isSelectedNamespace } from "../references/namespaces.js";

/** Reports whether a Gateway (`namespace/name`) allows the ListenerSets of a namespace. By default it allows none. */
export const isAllowedListenerSet = query(
  "gatewayApiListenerSetIsAllowed",
  (q, { gateway, namespace }: { readonly gateway: string; readonly namespace: string }): boolean => {
    const parent = q.read(kubernetesGateways, gateway);
    const { from = "None", selector } = parent?.spec.allowedListeners?.namespaces ?? {};
    if (parent === undefined || from === "None") return false;
    if (from === "All") return true;
    if (from === "Same") return namespace === parent.namespace;
    return selector !== undefined && q.call(isSelectedNamespace, { name: namespace, selector });
  },
);
