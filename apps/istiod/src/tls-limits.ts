import { complianceLimits, didYouMean, type Environment, nearestNames, SettingError } from "@istiod/settings";
import type { TlsOptions } from "@istiod/xds-server";
import type { FlagValues } from "./flags.js";
import { variables } from "./variables.js";

/** The versions, cipher suites and curves that a TLS server accepts. */
export type TlsLimits = Pick<TlsOptions, "minVersion" | "maxVersion" | "ciphers" | "curves">;

/** Cipher suites of TLS 1.2 that Node has, by their names in Go's crypto/tls. */
const cipherSuites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: "ECDHE-ECDSA-AES128-SHA256",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: "ECDHE-RSA-AES128-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_RSA_WITH_AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  TLS_RSA_WITH_AES_256_GCM_SHA384: "AES256-GCM-SHA384",
  TLS_RSA_WITH_AES_128_CBC_SHA256: "AES128-SHA256",
  TLS_RSA_WITH_AES_128_CBC_SHA: "AES128-SHA",
  TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA",
};

const tls13Suites = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/**
 * Returns the limits that the flags set, or COMPLIANCE_POLICY, which overrides them.
 *
 * @throws SettingError naming the flag or variable that is not supported
 */
export function tlsLimits(values: Pick<FlagValues, "tlsMinVersion" | "tlsCipherSuites">, env: Environment): TlsLimits {
  const byFlags: TlsLimits = { minVersion: `TLSv${values.tlsMinVersion}`, ...ciphers(values.tlsCipherSuites) };
  const policy = variables.compliancePolicy.read(env);
  if (policy === "") return byFlags;
  const { ecdhCurve, ...limits } = complianceLimits(policy, {
    use: "--secureGRPCAddr",
    alternative: 'do not serve with --secureGRPCAddr ""',
  });
  return { ...limits, curves: ecdhCurve };
}

/**
 * Checks the flags, also where TLS is not served.
 *
 * @throws SettingError naming the flag that is not supported
 */
export function checkTlsFlags({ tlsCipherSuites }: Pick<FlagValues, "tlsCipherSuites">): void {
  ciphers(tlsCipherSuites);
}

/** As in Go, the suites of TLS 1.3 are not chosen. */
function ciphers(names: readonly string[]): Pick<TlsLimits, "ciphers"> {
  if (names.length === 0) return {};
  const chosen = names.map((name) => {
    const suite = tls13Suites.includes(name) ? name : cipherSuites[name];
    if (suite === undefined)
      throw new SettingError(
        `--tls-cipher-suites ${names.join(",")}: ${name} is not supported${didYouMean(nearestNames(name, Object.keys(cipherSuites), 1))}`,
      );
    return suite;
  });
  return { ciphers: [...new Set([...tls13Suites, ...chosen])].join(":") };
}
