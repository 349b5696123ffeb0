import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";

/** What the HTTP inspector calls plain HTTP. HTTP/1.0 is left out where Envoy would refuse it: then it passes as bytes. */
export function plaintextHttpProtocols(q: QueryContext): readonly string[] {
  return features.http10(q) ? ["http/1.0", "http/1.1", "h2c"] : ["http/1.1", "h2c"];
}
