import type { JsonObject } from "@bufbuild/protobuf";
import { type CompliancePolicy, fipsCipherSuites } from "@istiod/settings";

/**
 * Builds the TLS parameters that a compliance policy requires, as istiod sets them in its own resources; `undefined`
 * without a policy.
 */
export function tlsParameters(policy: "" | CompliancePolicy | undefined): JsonObject | undefined {
  switch (policy) {
    case "fips-140-2":
      return { tls_minimum_protocol_version: "TLSv1_2", tls_maximum_protocol_version: "TLSv1_2" };
    case "fips-140-3":
      return { compliance_policies: ["FIPS_202205"] };
    case "pqc":
      return {
        tls_minimum_protocol_version: "TLSv1_3",
        cipher_suites: [...fipsCipherSuites],
        ecdh_curves: ["X25519MLKEM768"],
      };
    default:
      return undefined;
  }
}
