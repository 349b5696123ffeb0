import { revisionLabel } from "../webhooks/injection-webhooks.js";
import type { Pod } from "./pod-of.js";

/** Returns the revision that injected a Pod; empty if none did. */
export function podRevision({ metadata }: Pod): string {
  const annotations = metadata.annotations ?? {};
  const revision = annotations[revisionLabel];
  if (revision !== undefined) return revision;
  try {
    return (JSON.parse(annotations["sidecar.istio.io/status"] ?? "{}") as { revision?: string }).revision ?? "";
  } catch {
    return "";
  }
}
