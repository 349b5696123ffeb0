import type { View } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";

/** A connected proxy and its view of the mesh. */
export interface MeshClient {
  readonly proxy: Proxy;
  readonly view: View<Proxy>;
}
