import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
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
    async createCertificate(request, context) {
      const admitted = await admitCaller(peer(context), options);
      return { certChain: await issue(request, admitted, options) };
    },
  };
}
