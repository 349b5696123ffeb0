import { readFile } from "node:fs/promises";
import { keepServingCertificate, type KeptCertificate } from "@istiod/ca";
import type { TlsOptions } from "@istiod/xds-server";
import type { Logger } from "pino";
import type { RunningAuthority } from "./authority.js";
import type { FlagValues } from "./flags.js";

/** TLS settings, and when the certificate is renewed, in milliseconds since the epoch; absent: it is not. */
export interface ServingTls extends TlsOptions {
  readonly renewalDue?: number;
}

/**
 * The certificate that istiod serves with, and the roots by which it verifies clients: those that the flags name, or one of its own authority, which is renewed.
 *
 * @param use takes each renewed certificate
 * @param stops takes what ends the renewal
 * @throws Error where a file cannot be read, or no certificate is issued.
 */
export async function servingTls(values: FlagValues, { authority, names }: RunningAuthority, use: (tls: ServingTls) => void, stops: (() => unknown)[], log: Logger): Promise<ServingTls> {
  const clientCa = async (): Promise<string> => authority.bundle.rootsPem + (values.caCertFile ? await readFile(values.caCertFile, "utf8") : "");
  if (values.tlsCertFile || values.tlsKeyFile) {
    if (!values.tlsCertFile || !values.tlsKeyFile) throw new Error("--tlsCertFile and --tlsKeyFile belong together");
    return { cert: await readFile(values.tlsCertFile, "utf8"), key: await readFile(values.tlsKeyFile, "utf8"), clientCa: await clientCa() };
  }
  const roots = await clientCa();
  let current: KeptCertificate | undefined;
  const onError = (error: Error): void => log.error({ err: error }, "istiod's own certificate could not be renewed");
  const onCertificate = (certificate: KeptCertificate): void => {
    current = certificate;
    use({ ...certificate, clientCa: roots });
  };
  stops.push(await keepServingCertificate({ authority, names, onCertificate, onError }));
  if (!current) throw new Error("istiod's own certificate was not issued");
  return { ...(current as KeptCertificate), clientCa: roots };
}
