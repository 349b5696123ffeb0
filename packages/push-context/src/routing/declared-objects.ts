import { query } from "@istiod/incremental";
import { failureMessage } from "../visibility/failure-message.js";
import { virtualService } from "./virtual-service.js";

/**
 * The objects that declare the routes of a VirtualService (`namespace/name`), as `kind namespace/name`: routes of the
 * Gateway API if it stands for them, else itself.
 */
export const routeDeclarations = query("routeDeclarations", (q, key: string): readonly string[] => {
  const itself = [`VirtualService ${key}`];
  try {
    const sources = q.call(virtualService, key)?.derivedFrom ?? [];
    return sources.length === 0 ? itself : sources.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
  } catch (error) {
    failureMessage(error);
    return itself;
  }
});
