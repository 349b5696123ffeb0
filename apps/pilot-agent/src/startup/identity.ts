import type { Closers } from "@istiod/runtime";
import { WorkloadIdentity } from "../certificates/workload-identity.js";
import { type AgentMetrics, exportCertificateExpiry } from "../status/metrics.js";
import type { TokenSource } from "../credentials/token-source.js";
import type { AgentContext } from "./context.js";
import { loggedClose } from "./shutdown.js";

/**
 * Starts the SDS server and requests the workload's certificate, without waiting for it.
 *
 * @throws AgentError `file` or `address`
 */
export async function startIdentity(
  context: AgentContext,
  token: TokenSource,
  metrics: AgentMetrics,
  closers: Closers,
): Promise<WorkloadIdentity> {
  const identity = await WorkloadIdentity.prepare({
    ...context,
    token,
    onSigningRequest: ({ ok, milliseconds }) => {
      metrics.outgoingRequests.inc({ request_type: "CSR" });
      metrics.outgoingLatency.inc({ request_type: "CSR" }, Math.max(milliseconds, 0));
      if (!ok) metrics.failedOutgoingRequests.inc({ request_type: "CSR" });
    },
    onFileFailure: () => metrics.fileSecretFailures.inc(),
    onSdsLimit: (reason) => metrics.sdsRejected.inc({ reason }),
  });
  closers.defer(loggedClose("SDS server", () => identity.close(), context.log));
  exportCertificateExpiry(metrics, () => identity.secondsToExpiry());
  await identity.start();
  return identity;
}
