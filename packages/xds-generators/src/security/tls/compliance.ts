import { create } from "@bufbuild/protobuf";
import {
  TlsParameters_CompliancePolicy,
  TlsParameters_TlsProtocol as TlsProtocol,
  TlsParametersSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import type { CommonTlsContext } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";

const approvedCiphers = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
];

/** Enforces `COMPLIANCE_POLICY`, overriding earlier settings. Must be called last. */
export function enforceCompliance(q: QueryContext, context: CommonTlsContext): void {
  const policy = features.compliancePolicy(q);
  if (policy === "") return;
  const params = (context.tlsParams ??= create(TlsParametersSchema));
  switch (policy) {
    case "fips-140-2":
      params.tlsMinimumProtocolVersion = TlsProtocol.TLSv1_2;
      params.tlsMaximumProtocolVersion = TlsProtocol.TLSv1_2;
      params.cipherSuites = params.cipherSuites.filter((cipher) => approvedCiphers.includes(cipher));
      params.ecdhCurves = [];
      return;
    case "fips-140-3":
      params.compliancePolicies = [TlsParameters_CompliancePolicy.FIPS_202205];
      return;
    case "pqc":
      params.tlsMinimumProtocolVersion = TlsProtocol.TLSv1_3;
      params.cipherSuites = [...approvedCiphers];
      params.ecdhCurves = ["X25519MLKEM768"];
      return;
    default:
      throw new Error(`COMPLIANCE_POLICY ${JSON.stringify(policy)}: expected fips-140-2, fips-140-3 or pqc`);
  }
}
