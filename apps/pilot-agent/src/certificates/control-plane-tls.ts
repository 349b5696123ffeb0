import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate, type SecureContextOptions } from "node:tls";
import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import { type ComplianceLimits } from "@istiod/settings";
import { AgentError } from "../errors.js";
import { type Log, silentLog } from "../log.js";

/** TLS settings for connections to istiod. Files are read for each connection, so that rotation needs no restart. */
export interface ControlPlaneTls {
  /** PEM file of root certificates; `SYSTEM` for the system's. */
  readonly rootFile: string;
  readonly certificateFile?: string;
  readonly keyFile?: string;
  /** DNS name or IP address expected in the server's certificate. Default: {@link expectedName} of its address. */
  readonly serverName?: string;
  /** Limits of COMPLIANCE_POLICY. Default: TLS 1.2 or later. */
  readonly limits?: ComplianceLimits;
}

/** Connection options of node:tls. */
export interface TlsOptions extends SecureContextOptions {
  servername?: string;
  checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined;
}

/** Name in istiod's certificate, in the default namespace. */
const ISTIOD_SERVICE = "istiod.istio-system.svc";

/**
 * Reads the files and returns connection options. Without a current certificate, the token authenticates the agent
 * alone, as on the first start of a virtual machine.
 *
 * @param address `host:port` of the server
 * @throws AgentError `file`
 */
export async function tlsOptions(
  tls: ControlPlaneTls,
  address: string,
  { clock = systemClock, log = silentLog }: { readonly clock?: Clock; readonly log?: Log } = {},
): Promise<TlsOptions> {
  const expected = tls.serverName ?? expectedName(address);
  const options: TlsOptions = {
    minVersion: "TLSv1.2",
    ...tls.limits,
    checkServerIdentity: (_, certificate) => checkServerName(expected, certificate),
  };
  if (tls.rootFile !== "SYSTEM") options.ca = await read(tls.rootFile, "root certificate of the control plane");
  if (tls.certificateFile && tls.keyFile) {
    const cert = await readUsableCertificate(tls.certificateFile, clock, log);
    if (cert !== undefined) {
      options.cert = cert;
      options.key = await read(tls.keyFile, "key for the control plane");
    }
  }
  if (!isIP(expected)) options.servername = expected;
  return options;
}

/**
 * Returns the name expected in a server's certificate: its host, or istiod's Service if the host is localhost, as with
 * a forwarded port.
 */
export function expectedName(address: string): string {
  const host = address.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return host.includes("localhost") ? ISTIOD_SERVICE : host;
}

function checkServerName(expected: string, certificate: PeerCertificate): Error | undefined {
  if (checkServerIdentity(expected, certificate) === undefined) return undefined;
  const names = (certificate.subjectaltname ?? "")
    .split(", ")
    .filter((name) => name !== "")
    .map((name) => name.replace(/^(?:DNS|IP Address|URI):/, ""));
  const found = names.length === 0 ? "has no name" : `is for ${names.join(", ")}`;
  return new Error(`the server's certificate ${found}, expected ${expected}; set ISTIOD_SAN to expect another name`);
}

/** Returns the client certificate; `undefined` if it is missing, malformed or expired. */
async function readUsableCertificate(path: string, clock: Clock, log: Log): Promise<string | undefined> {
  try {
    const text = await readFile(path, "utf8");
    const { validTo } = new X509Certificate(text);
    if (Date.parse(validTo) > clock.now()) return text;
    log.warn(`certificate ${path} expired at ${new Date(validTo).toISOString()}, using token instead`);
  } catch (error) {
    log.warn(`cannot read the certificate ${path}, using token instead: ${reasonOf(error)}`);
  }
  return undefined;
}

async function read(path: string, description: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw AgentError.from(error, "file", `${description} cannot be read`);
  }
}
