import { query } from "@istiod/incremental";
import { selects } from "@istiod/push-context";

/** Reports whether the client's workload has all these labels. */
export const selectsClient = query("explain.selectsClient", (q, labels: Readonly<Record<string, string>>): boolean =>
  selects(q, labels),
);
