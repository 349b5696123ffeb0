import { meshConfig } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";

/**
 * Calls a function after each commit that changes the mesh configuration, when it may commit itself. Returns a function
 * that ends this.
 */
export function followMeshConfig(database: Pick<Database<Proxy>, "observe">, changed: () => void): () => void {
  let isStopped = false;
  const unobserve = database.observe({
    after: (commit) => {
      // Observers must not commit.
      if (commit.changed.some(({ collection }) => collection === meshConfig))
        queueMicrotask(() => isStopped || changed());
    },
  });
  return () => {
    isStopped = true;
    unobserve();
  };
}
