import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AuthenticationPolicy, type ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { complianceLimits, type ComplianceLimits, type Environment, SettingError } from "@istiod/settings";
import type { ControlPlaneTls } from "./certificates/control-plane-tls.js";
import { AgentError } from "./errors.js";
import type { Options } from "./options/table.js";

type ClientCertificate = Pick<ControlPlaneTls, "certificateFile" | "keyFile">;

/** Mount path of istiod's root certificate. */
const ISTIOD_ROOT = "./var/run/secrets/istio/root-cert.pem";
/** Mount path of a root certificate that the operator supplies. */
const MOUNTED_ROOT = "./etc/certs/root-cert.pem";
/** Node metadata with the files of a sidecar with mounted certificates. */
const CLIENT_CERTIFICATE = "ISTIO_META_TLS_CLIENT_CERT_CHAIN";
const CLIENT_KEY = "ISTIO_META_TLS_CLIENT_KEY";
const CLIENT_ROOT = "ISTIO_META_TLS_CLIENT_ROOT_CERT";
/** istiod's plaintext port. */
const PLAINTEXT_PORT = ":15010";

/**
 * Returns TLS settings for istiod's discovery address; `undefined` for plaintext (`controlPlaneAuthPolicy: NONE`).
 * Certificates in PROV_CERT, or else those of the proxy metadata with FILE_MOUNTED_CERTS, authenticate the agent.
 *
 * @throws AgentError `file`, or SettingError
 */
export function discoveryTls(options: Options, config: ProxyConfig): ControlPlaneTls | undefined {
  if (config.controlPlaneAuthPolicy === AuthenticationPolicy.NONE) return undefined;
  return {
    rootFile: discoveryRoot(options, config),
    ...discoveryCertificate(options, config),
    ...serverName(options),
    ...limits(options),
  };
}

/**
 * Returns the address of the certificate authority and its TLS settings. Only certificates in PROV_CERT authenticate
 * the agent, in addition to its token.
 *
 * @throws AgentError `file`, or SettingError
 */
export function caEndpoint(options: Options, config: ProxyConfig): { address: string; tls?: ControlPlaneTls } {
  const address = options.caAddress || config.discoveryAddress;
  if (options.caPlaintext || address.endsWith(PLAINTEXT_PORT)) return { address };
  return {
    address,
    tls: {
      rootFile: authorityRoot(options),
      ...provisionedCertificate(options),
      // ISTIOD_SAN applies to the discovery address only, not to an authority at CA_ADDR.
      ...(options.caAddress === "" ? serverName(options) : {}),
      ...limits(options),
    },
  };
}

/** Returns request headers from variables with a prefix: `XDS_HEADER_FOO` sets the header `foo`. */
export function headersFrom(env: Environment, prefix: string): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) =>
    name.startsWith(prefix) && value !== undefined ? [[name.slice(prefix.length).toLowerCase(), value] as const] : [],
  );
  return Object.fromEntries(entries);
}

function discoveryRoot(options: Options, { proxyMetadata }: ProxyConfig): string {
  if (options.xdsRoot !== "") return configuredRoot(options, options.xdsRoot, "XDS_ROOT_CA");
  const mounted = resolve(options.directory, MOUNTED_ROOT);
  if (existsSync(mounted)) return mounted;
  if (options.provCert !== "") return provisionedFile(options, "root-cert.pem");
  if (options.fileMountedCerts)
    return existingRoot(options, proxyMetadata[CLIENT_ROOT] ?? "", `${CLIENT_ROOT} of proxyMetadata`);
  return defaultRoot(options, "XDS_ROOT_CA");
}

function authorityRoot(options: Options): string {
  if (options.caRoot !== "") return configuredRoot(options, options.caRoot, "CA_ROOT_CA");
  if (options.certProvider === "custom") return existingRoot(options, MOUNTED_ROOT, "PILOT_CERT_PROVIDER=custom");
  if (options.provCert !== "") return provisionedFile(options, "root-cert.pem");
  return defaultRoot(options, "CA_ROOT_CA");
}

function configuredRoot(options: Options, path: string, variable: string): string {
  return path === "SYSTEM" ? path : existingRoot(options, path, variable);
}

function defaultRoot(options: Options, variable: string): string {
  if (options.certProvider === "none")
    throw new SettingError(`PILOT_CERT_PROVIDER=none needs a root certificate for istiod: set ${variable}`);
  return existingRoot(options, ISTIOD_ROOT);
}

function existingRoot({ directory }: Options, path: string, setting?: string): string {
  const file = resolve(directory, path);
  if (path !== "" && existsSync(file)) return file;
  const reason = setting === undefined ? "" : ` (${setting})`;
  throw new AgentError(
    "file",
    `root certificate for istiod not found: ${path === "" ? "no path" : file}${reason}; mount it there, or set CA_ROOT_CA and XDS_ROOT_CA`,
  );
}

function discoveryCertificate(options: Options, { proxyMetadata }: ProxyConfig): ClientCertificate {
  if (options.provCert !== "") return provisionedCertificate(options);
  if (!options.fileMountedCerts) return {};
  const [certificate, key] = [proxyMetadata[CLIENT_CERTIFICATE], proxyMetadata[CLIENT_KEY]];
  if (!certificate || !key) return {};
  return { certificateFile: resolve(options.directory, certificate), keyFile: resolve(options.directory, key) };
}

function provisionedCertificate(options: Options): ClientCertificate {
  if (options.provCert === "") return {};
  return {
    certificateFile: provisionedFile(options, "cert-chain.pem"),
    keyFile: provisionedFile(options, "key.pem"),
  };
}

/** Files of PROV_CERT may be written later, so they need not exist yet. */
function provisionedFile({ directory, provCert }: Options, file: string): string {
  return resolve(directory, provCert, file);
}

function limits({ compliancePolicy }: Options): { limits?: ComplianceLimits } {
  if (compliancePolicy === "") return {};
  const needed = { use: "connections to istiod", alternative: "connect to it in plaintext" };
  return { limits: complianceLimits(compliancePolicy, needed) };
}

function serverName({ istiodSan }: Options): { serverName?: string } {
  return istiodSan === "" ? {} : { serverName: istiodSan };
}
