import { hostileListeners } from "./hostile-listeners.js";
import { hostileReferences } from "./hostile-references.js";
import { hostileRoutes } from "./hostile-routes.js";
import type { HostileMesh } from "./objects.js";

/** Returns meshes that are hostile in one way each. @param size number of routes where many are the point */
export function hostileMeshes(size: number): readonly HostileMesh[] {
  return [...hostileListeners, ...hostileReferences, ...hostileRoutes(size)];
}
