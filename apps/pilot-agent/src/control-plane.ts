import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AuthenticationPolicy, type ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { ControlPlaneTls } from "./certificates/control-plane-tls.js";
import { AgentError } from "./errors.js";
import type { Options } from "./options/table.js";

/** Where istiod's root is mounted. */
const ISTIOD_ROOT = "./var/run/secrets/istio/root-cert.pem";
/** Where an operator mounts certificates of his own. */
const MOUNTED_ROOT = "./etc/certs/root-cert.pem";
/** Istiod's port without TLS. */
const PLAINTEXT_PORT = ":15010";

/**
 * How the agent speaks to istiod's discovery port; `undefined`: without TLS, as the proxy configuration says. @throws
 * AgentError `file`
 */
export function discoveryTls(options: Options, config: ProxyConfig): ControlPlaneTls | undefined {
  if (config.controlPlaneAuthPolicy === AuthenticationPolicy.NONE) return undefined;
  const at = (path: string): string => resolve(options.directory, path);
  const metadata = config.proxyMetadata;
  if (options.provCert !== "") {
    const own = {
      certificateFile: at(`${options.provCert}/cert-chain.pem`),
      keyFile: at(`${options.provCert}/key.pem`),
    };
    // The root may be written to that directory later, so it is not looked for now.
    return {
      rootFile: rootFile(options, options.xdsRoot, at(`${options.provCert}/root-cert.pem`), false),
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
      rootFile: rootFile(options, options.xdsRoot, root === undefined ? undefined : at(root)),
      ...(files.certificateFile && files.keyFile
        ? { certificateFile: at(files.certificateFile), keyFile: at(files.keyFile) }
        : {}),
      ...serverName(options),
    };
  }
  return { rootFile: rootFile(options, options.xdsRoot), ...serverName(options) };
}

/** Address of the certificate authority and how the agent speaks to it. @throws AgentError `file` */
export function caEndpoint(options: Options, config: ProxyConfig): { address: string; tls?: ControlPlaneTls } {
  const address = options.caAddress || config.discoveryAddress;
  // ISTIOD_SAN is the name of the discovery address, and no other authority's.
  const expected = options.caAddress === "" ? serverName(options) : {};
  if (options.caPlaintext || address.endsWith(PLAINTEXT_PORT)) return { address };
  if (options.provCert === "") return { address, tls: { rootFile: rootFile(options, options.caRoot), ...expected } };
  const at = (file: string): string => resolve(options.directory, options.provCert, file);
  return {
    address,
    tls: {
      rootFile: rootFile(options, options.caRoot, at("root-cert.pem"), false),
      certificateFile: at("cert-chain.pem"),
      keyFile: at("key.pem"),
      ...expected,
    },
  };
}

function rootFile({ directory }: Options, given: string, otherwise?: string, mustExist = true): string {
  if (given === "SYSTEM") return given;
  const mounted = resolve(directory, MOUNTED_ROOT);
  const path =
    given !== ""
      ? resolve(directory, given)
      : (otherwise ?? (existsSync(mounted) ? mounted : resolve(directory, ISTIOD_ROOT)));
  if (mustExist && !existsSync(path)) {
    throw new AgentError(
      "file",
      `the root certificate that istiod is verified against is missing: ${path}; mount it there, or name another by CA_ROOT_CA and XDS_ROOT_CA`,
    );
  }
  return path;
}

function serverName({ istiodSan }: Options): { serverName?: string } {
  return istiodSan === "" ? {} : { serverName: istiodSan };
}
