import { query } from "@istiod/incremental";
import { isVerifiedWorkload, verifiedMatchesLabels } from "../proxy/verified-workload.js";
import { gatewayObject, mergedGateway, selectsByServices } from "./merged-gateway.js";

/**
 * Reports whether the client's Pod or WorkloadEntry, as istiod knows it, makes the client a router: a Gateway selects
 * it by labels or Services. The type and labels in the node are the client's own claims.
 */
export const isVerifiedRouter = query("isVerifiedRouter", (q): boolean =>
  (q.call(mergedGateway)?.gatewayNames ?? []).some((key) => q.call(selectsVerified, key)),
);

/**
 * Reports whether the Gateway `namespace/name`, which selects the client, selects its Pod or WorkloadEntry too. A
 * Gateway without a selector selects only clients that another Gateway selects.
 */
export const servesOnVerifiedWorkload = query(
  "servesOnVerifiedWorkload",
  (q, key: string): boolean =>
    q.call(selectsVerified, key) || (q.call(isWithoutSelector, key) && q.call(isVerifiedRouter)),
);

const selectsVerified = query("gatewaySelectsVerified", (q, key: string): boolean => {
  const gateway = q.call(gatewayObject, key);
  if (gateway === undefined || !q.ask(isVerifiedWorkload)) return false;
  if (selectsByServices(gateway)) return true;
  const { selector } = gateway.spec;
  return Object.keys(selector).length > 0 && q.ask(verifiedMatchesLabels, selector);
});

const isWithoutSelector = query("gatewayIsWithoutSelector", (q, key: string): boolean => {
  const gateway = q.call(gatewayObject, key);
  return gateway !== undefined && !selectsByServices(gateway) && Object.keys(gateway.spec.selector).length === 0;
});
