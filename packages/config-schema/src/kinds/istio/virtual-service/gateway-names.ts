import { checkFqdn, isDnsLabel } from "../../../validation/network/names.js";
import type { Place } from "../../../validation/place.js";

/**
 * Checks gateway names: `mesh`, `name` or `namespace/name`. As in Istio, names after one without a namespace are not
 * checked.
 */
export function checkGatewayNames(names: readonly string[], place: Place): void {
  for (const [i, name] of names.entries()) {
    const at = place.at(i);
    const slash = name.indexOf("/");
    if (slash < 0) {
      const [first = "", second = ""] = name.split(".");
      if (name.includes(".")) at.warning(`is ${JSON.stringify(name)}, a deprecated form, expected ${second}/${first}`);
      checkFqdn(name, at);
      return;
    }
    const namespace = name.slice(0, slash);
    const own = name.slice(slash + 1);
    if (!isDnsLabel(namespace)) at.error(`has the namespace ${JSON.stringify(namespace)}, expected namespace/name`);
    if (!isDnsLabel(own)) at.error(`has the name ${JSON.stringify(own)}, expected namespace/name`);
  }
}
