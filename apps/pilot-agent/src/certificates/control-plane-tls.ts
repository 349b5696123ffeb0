import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { AgentError } from "../errors.js";

/** How the agent verifies istiod and shows itself: files, read at each connection so that new ones need no restart. */
export interface ControlPlaneTls {
  /** PEM of roots; `SYSTEM`: the machine's own. */
  readonly rootFile: string;
  readonly certificateFile?: string;
  readonly keyFile?: string;
  /** The name expected in the server's certificate, where it is not the host of its address. */
  readonly serverName?: string;
}

/** Options of node:tls. */
export interface TlsOptions extends SecureContextOptions {
  servername?: string;
}

/** Reads the files. @throws AgentError `file` */
export async function tlsOptions(tls: ControlPlaneTls): Promise<TlsOptions> {
  const options: TlsOptions = { minVersion: "TLSv1.2" };
  if (tls.rootFile !== "SYSTEM") options.ca = await read(tls.rootFile, "root certificate of the control plane");
  if (tls.certificateFile && tls.keyFile) {
    options.cert = await read(tls.certificateFile, "certificate for the control plane");
    options.key = await read(tls.keyFile, "key for the control plane");
  }
  if (tls.serverName && !isIP(tls.serverName)) options.servername = tls.serverName;
  return options;
}

async function read(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw AgentError.from(error, "file", `${what} cannot be read`);
  }
}
