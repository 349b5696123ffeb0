import { followPoolOwnership } from "@istiod/controllers";
import { gatewayApiFeatures } from "@istiod/gateway-api";
import type { Mesh } from "../phases/mesh.js";
import type { Startup } from "../phases/startup.js";
import { variables } from "../variables.js";
import { meshSettings } from "./mesh-settings.js";

/**
 * Returns the function that tells why no controller of this revision writes the Service of an InferencePool
 * (`namespace/name`); undefined is its answer if one does. The leader alone runs the controller, and every replica is
 * asked.
 */
export function reasonUnwritten(
  { values, env, closers }: Startup,
  { client, availability, database, sources }: Mesh,
): (pool: string) => string | undefined {
  if (client === undefined) return () => "this istiod is not connected to a cluster";
  // InferencePools have no Services then.
  if (!gatewayApiFeatures.inferenceExtension.setting.read(env)) return () => undefined;
  const namespace = variables.watchNamespace.read(env);
  const ownership = followPoolOwnership({
    client,
    availability,
    mesh: meshSettings(database),
    ...(namespace !== "" && { namespace }),
    revision: variables.revision.read(env) || "default",
    systemNamespace: values.namespace,
    readsPoolsElsewhere: sources.isConfigElsewhere,
  });
  closers.defer(() => ownership.stop());
  return (pool) => ownership.reasonUnwritten(pool);
}
