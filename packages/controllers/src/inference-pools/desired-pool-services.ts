import { type InferencePoolService, inferencePoolServices } from "@istiod/gateway-api";
import type { Database, View } from "@istiod/incremental";

/** The Services of InferencePools that the mesh needs, computed while somebody follows them: on the leader alone. */
export class DesiredPoolServices<C> {
  readonly #database: Database<C>;
  readonly #client: C;

  /** @param client the client as which the mesh is read. The Services do not depend on it. */
  constructor(database: Database<C>, client: C) {
    this.#database = database;
    this.#client = client;
  }

  /** Passes all Services to a function, now and after each change. Returns a function that ends this. */
  follow(changed: (services: readonly InferencePoolService[]) => void): () => void {
    const view = this.#database.view(this.#client);
    const stop = this.#database.observe({
      after: ({ affected }) => {
        const isAffected = affected.some((followed) => followed.view === (view as View<unknown>));
        if (isAffected) changed(view.follow(inferencePoolServices));
      },
    });
    changed(view.follow(inferencePoolServices));
    return () => {
      stop();
      view.release();
    };
  }
}
