import { create } from "@bufbuild/protobuf";
import {
  CertificateValidationContextSchema,
  SubjectAltNameMatcher_SanType,
  TlsParameters_TlsProtocol as TlsProtocol,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import {
  type CommonTlsContext,
  CommonTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { QueryContext } from "@istiod/incremental";
import { prefixMatcher } from "../../envoy/string-matcher.js";
import { enforceCompliance } from "./compliance.js";
import { applyFileCredentials, serverFileCredentials, trustDomainsForValidation } from "./downstream-tls.js";

/**
 * Returns the TLS context of either end of an HBONE tunnel: HTTP/2 over TLS 1.3, with the workload's certificate and
 * peers of the mesh's trust domains.
 * Source: pilot/pkg/networking/core/listener_waypoint.go, buildCommonConnectTLSContext.
 */
export function tunnelTlsContext(q: QueryContext): CommonTlsContext {
  const common = create(CommonTlsContextSchema, {
    alpnProtocols: ["h2"],
    tlsParams: { tlsMinimumProtocolVersion: TlsProtocol.TLSv1_3, tlsMaximumProtocolVersion: TlsProtocol.TLSv1_3 },
  });
  const matchTypedSubjectAltNames = trustDomainsForValidation(q).map((domain) => ({
    sanType: SubjectAltNameMatcher_SanType.URI,
    matcher: prefixMatcher(`spiffe://${domain}/`),
  }));
  applyFileCredentials(
    q,
    common,
    serverFileCredentials(q),
    create(CertificateValidationContextSchema, { matchTypedSubjectAltNames }),
  );
  enforceCompliance(q, common);
  return common;
}
