import type { Closers } from "@istiod/settings";
import { WorkloadIdentity } from "../certificates/workload-identity.js";
import { type AgentMetrics, exportCertificateExpiry } from "../status/metrics.js";
import type { AgentContext } from "./context.js";
import { loggedClose } from "./shutdown.js";

/**
 * Starts the SDS server and requests the workload's certificate, without waiting for it.
 *
 * @throws AgentError `file` or `address`
 */
export async function startIdentity(
  context: AgentContext,
  metrics: AgentMetrics,
  closers: Closers,
): Promise<WorkloadIdentity> {
  const identity = await WorkloadIdentity.prepare({
    ...context,
    onSigningRequest: (ok) => {
      metrics.outgoingRequests.inc({ request_type: "CSR" });
      if (!ok) metrics.failedOutgoingRequests.inc({ request_type: "CSR" });
    },
    onSdsLimit: (reason) => metrics.sdsRejected.inc({ reason }),
  });
  closers.defer(loggedClose("SDS server", () => identity.close(), context.log));
  exportCertificateExpiry(metrics, () => identity.secondsToExpiry());
  await identity.start();
  return identity;
}
