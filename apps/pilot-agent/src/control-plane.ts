import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AuthenticationPolicy, type ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { Environment } from "@istiod/settings";
import type { ControlPlaneTls } from "./certificates/control-plane-tls.js";
import { AgentError } from "./errors.js";
import type { Options } from "./options/table.js";

/** Mount path of istiod's root certificate. */
const ISTIOD_ROOT = "./var/run/secrets/istio/root-cert.pem";
/** Mount path of a root certificate that the operator supplies. */
const MOUNTED_ROOT = "./etc/certs/root-cert.pem";
/** istiod's plaintext port. */
const PLAINTEXT_PORT = ":15010";

/**
 * Returns TLS settings for istiod's discovery address; `undefined` for plaintext (`controlPlaneAuthPolicy: NONE`).
 *
 * @throws AgentError `file`
 */
export function discoveryTls(options: Options, config: ProxyConfig): ControlPlaneTls | undefined {
  if (config.controlPlaneAuthPolicy === AuthenticationPolicy.NONE) return undefined;
  const resolvePath = (path: string): string => resolve(options.directory, path);
  const metadata = config.proxyMetadata;
  if (options.provCert !== "") {
    const own = {
      certificateFile: resolvePath(`${options.provCert}/cert-chain.pem`),
      keyFile: resolvePath(`${options.provCert}/key.pem`),
    };
    // The root may be written to that directory later, so it need not exist yet.
    return {
      rootFile: rootFile(options, options.xdsRoot, resolvePath(`${options.provCert}/root-cert.pem`), false),
      ...own,
      ...serverName(options),
    };
  }
  if (options.fileMountedCerts) {
    const files = {
      certificateFile: metadata["ISTIO_META_TLS_CLIENT_CERT_CHAIN"],
      keyFile: metadata["ISTIO_META_TLS_CLIENT_KEY"],
    };
    const root = metadata["ISTIO_META_TLS_CLIENT_ROOT_CERT"];
    return {
      rootFile: rootFile(options, options.xdsRoot, root === undefined ? undefined : resolvePath(root)),
      ...(files.certificateFile && files.keyFile
        ? { certificateFile: resolvePath(files.certificateFile), keyFile: resolvePath(files.keyFile) }
        : {}),
      ...serverName(options),
    };
  }
  return { rootFile: rootFile(options, options.xdsRoot), ...serverName(options) };
}

/** Returns the address of the certificate authority and its TLS settings. @throws AgentError `file` */
export function caEndpoint(options: Options, config: ProxyConfig): { address: string; tls?: ControlPlaneTls } {
  const address = options.caAddress || config.discoveryAddress;
  // ISTIOD_SAN applies to the discovery address only, not to an authority at CA_ADDR.
  const expected = options.caAddress === "" ? serverName(options) : {};
  if (options.caPlaintext || address.endsWith(PLAINTEXT_PORT)) return { address };
  if (options.provCert === "") return { address, tls: { rootFile: rootFile(options, options.caRoot), ...expected } };
  const resolveFile = (file: string): string => resolve(options.directory, options.provCert, file);
  return {
    address,
    tls: {
      rootFile: rootFile(options, options.caRoot, resolveFile("root-cert.pem"), false),
      certificateFile: resolveFile("cert-chain.pem"),
      keyFile: resolveFile("key.pem"),
      ...expected,
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

function rootFile({ directory }: Options, configured: string, fallback?: string, mustExist = true): string {
  if (configured === "SYSTEM") return configured;
  const mounted = resolve(directory, MOUNTED_ROOT);
  const path =
    configured !== ""
      ? resolve(directory, configured)
      : (fallback ?? (existsSync(mounted) ? mounted : resolve(directory, ISTIOD_ROOT)));
  if (mustExist && !existsSync(path)) {
    throw new AgentError(
      "file",
      `root certificate for istiod not found: ${path}; mount it there, or set CA_ROOT_CA and XDS_ROOT_CA`,
    );
  }
  return path;
}

function serverName({ istiodSan }: Options): { serverName?: string } {
  return istiodSan === "" ? {} : { serverName: istiodSan };
}
