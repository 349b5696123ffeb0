import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate, type SecureContextOptions } from "node:tls";
import { AgentError } from "../errors.js";

/** How the agent verifies istiod and shows itself: files, read at each connection so that new ones need no restart. */
export interface ControlPlaneTls {
  /** PEM of roots; `SYSTEM`: the machine's own. */
  readonly rootFile: string;
  readonly certificateFile?: string;
  readonly keyFile?: string;
  /**
   * The name or IP address expected in the server's certificate. Default: {@link expectedName} of the server's address.
   */
  readonly serverName?: string;
}

/** Options of node:tls. */
export interface TlsOptions extends SecureContextOptions {
  servername?: string;
  checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined;
}

/** The name in istiod's certificate for its usual namespace. */
const istiodService = "istiod.istio-system.svc";

/**
 * Reads the files.
 *
 * @param address `host:port` of the server.
 * @throws AgentError `file`
 */
export async function tlsOptions(tls: ControlPlaneTls, address: string): Promise<TlsOptions> {
  const expected = tls.serverName ?? expectedName(address);
  const options: TlsOptions = {
    minVersion: "TLSv1.2",
    checkServerIdentity: (_, certificate) => verifyName(expected, certificate),
  };
  if (tls.rootFile !== "SYSTEM") options.ca = await read(tls.rootFile, "root certificate of the control plane");
  if (tls.certificateFile && tls.keyFile) {
    options.cert = await read(tls.certificateFile, "certificate for the control plane");
    options.key = await read(tls.keyFile, "key for the control plane");
  }
  if (!isIP(expected)) options.servername = expected;
  return options;
}

/**
 * Returns the name that a server's certificate must have: its host, or istiod's Service where that is reached as
 * localhost, as through a forwarded port.
 */
export function expectedName(address: string): string {
  const host = address.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return host.includes("localhost") ? istiodService : host;
}

function verifyName(expected: string, certificate: PeerCertificate): Error | undefined {
  if (checkServerIdentity(expected, certificate) === undefined) return undefined;
  const names = (certificate.subjectaltname ?? "")
    .split(", ")
    .filter((name) => name !== "")
    .map((name) => name.replace(/^(?:DNS|IP Address|URI):/, ""));
  const found = names.length === 0 ? "has no name" : `is for ${names.join(", ")}`;
  return new Error(`the server's certificate ${found}, expected ${expected}; ISTIOD_SAN says which name to expect`);
}

async function read(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw AgentError.from(error, "file", `${what} cannot be read`);
  }
}
