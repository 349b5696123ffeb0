import { createSecureContext } from "node:tls";
import { SettingError } from "./setting.js";

/** A policy that limits TLS (`COMPLIANCE_POLICY`). */
export type CompliancePolicy = "fips-140-2" | "fips-140-3" | "pqc";

/** The policies, for the setting's values. */
export const compliancePolicies: readonly CompliancePolicy[] = ["fips-140-2", "fips-140-3", "pqc"];

/** The versions, cipher suites and curves that a policy allows, as options of node:tls. */
export interface ComplianceLimits {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  readonly maxVersion?: "TLSv1.2" | "TLSv1.3";
  /** Cipher suites, separated by colons. */
  readonly ciphers: string;
  /** Curves, separated by colons. */
  readonly ecdhCurve: string;
}

/** Cipher suites of TLS 1.2 that FIPS 140 allows. */
export const fipsCipherSuites: readonly string[] = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
];

const aesOfTls13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"];

/** Source: Istio's pkg/model/fips.go. */
const limits: Readonly<Record<CompliancePolicy, ComplianceLimits>> = {
  "fips-140-2": {
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.2",
    ciphers: fipsCipherSuites.join(":"),
    ecdhCurve: "P-256",
  },
  "fips-140-3": {
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.3",
    ciphers: [...aesOfTls13, ...fipsCipherSuites].join(":"),
    ecdhCurve: "P-256:P-384",
  },
  pqc: { minVersion: "TLSv1.3", ciphers: aesOfTls13.join(":"), ecdhCurve: "X25519MLKEM768" },
};

/**
 * Returns the limits of a policy.
 *
 * @param needed what needs them and how to do without, for the error
 * @throws SettingError if this Node.js does not have the curves of the policy
 */
export function complianceLimits(
  policy: CompliancePolicy,
  needed: { readonly use: string; readonly alternative: string },
): ComplianceLimits {
  const { minVersion, ciphers, ecdhCurve } = limits[policy];
  try {
    createSecureContext({ minVersion, ciphers, ecdhCurve });
  } catch (cause) {
    // Node leaves the error in OpenSSL's queue, where the next operation would find it. This clears the queue.
    createSecureContext();
    throw new SettingError(
      `COMPLIANCE_POLICY=${policy} needs ${ecdhCurve} for ${needed.use}, which Node.js ${process.versions.node} does not have; use a newer Node.js, or ${needed.alternative}`,
      { cause },
    );
  }
  return limits[policy];
}
