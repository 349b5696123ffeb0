import { Code, ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import type { Peer } from "../identity/peer.js";
import { connectionKey } from "./connection.js";
import { admitCaller, issue, type IssuanceOptions } from "./issuance.js";

export interface CertificateServiceOptions extends IssuanceOptions {
  /** Returns the client of a call. Default: the peer that `connectionValues` has set. */
  readonly peer?: (context: HandlerContext) => Peer;
}

/**
 * Returns the routes of `istio.v1.auth.IstioCertificateService`, for `connectNodeAdapter({ routes, contextValues:
 * connectionValues })`. Connect reads a request before its caller is known; `certificateCalls` does not, and bounds the
 * requests in progress.
 */
export function certificateRoutes(options: CertificateServiceOptions): (router: ConnectRouter) => void {
  return (router) => router.service(IstioCertificateService, certificateService(options));
}

/** Returns the methods of the service. */
export function certificateService(options: CertificateServiceOptions): ServiceImpl<typeof IstioCertificateService> {
  const { peer = ({ values }) => values.get(connectionKey) } = options;
  return {
    createCertificate(request, context) {
      const { signal } = context;
      const respond = async () => {
        const admitted = await admitCaller(peer(context), options);
        signal.throwIfAborted();
        return { certChain: await issue(request, admitted, options, signal) };
      };
      return unlessAborted(signal, respond());
    },
  };
}

/**
 * Settles as the work does, or rejects with the reason of the signal once it is aborted. Connect aborts the signal of a
 * call whose deadline has passed, but waits for the handler.
 */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(ConnectError.from(signal.reason, Code.Canceled));
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
