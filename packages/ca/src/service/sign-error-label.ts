import type { CaErrorCode } from "../errors.js";

/** Returns the value of the label `error` of Istio's metric `citadel_server_csr_sign_err_count`. */
export function signErrorLabel(
  code: CaErrorCode,
): "CA_NOT_READY" | "CSR_ERROR" | "TTL_ERROR" | "CERT_GEN_ERROR" | "UNKNOWN" {
  switch (code) {
    case "not-ready":
      return "CA_NOT_READY";
    case "csr":
    case "signer-root":
      return "CSR_ERROR";
    case "ttl":
      return "TTL_ERROR";
    case "signing":
      return "CERT_GEN_ERROR";
    default:
      return "UNKNOWN";
  }
}
