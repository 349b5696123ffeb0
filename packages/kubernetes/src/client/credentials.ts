import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import type { Clock } from "@istiod/runtime";
import type { User } from "@kubernetes/client-node";
import { ApiError } from "../api-error.js";
import type { ClusterAccess } from "./cluster-access.js";

/** TLS options and headers of requests. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsOptions;
}

export interface TlsOptions {
  readonly ca?: Buffer;
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Time after which files and plugins are read again, as in client-go. */
const maxAgeMs = 60_000;
/** Time for a plugin to return credentials. */
const pluginTimeoutMs = 60_000;

/** The credentials for a cluster, read again every minute and on demand. */
export class CredentialSource {
  readonly #access: ClusterAccess;
  readonly #clock: Clock;
  #current: Promise<Credentials> | undefined;
  #readAt = 0;

  constructor(access: ClusterAccess, clock: Clock) {
    this.#access = access;
    this.#clock = clock;
  }

  /** @throws ApiError `configuration` */
  get(): Promise<Credentials> {
    if (this.#current === undefined || this.#clock.now() - this.#readAt >= maxAgeMs) this.#read();
    return this.#current as Promise<Credentials>;
  }

  /** Discards credentials that the server rejected. Credentials that were read in the meantime are kept. */
  discard(rejected: Promise<Credentials>): void {
    if (this.#current === rejected) this.#current = undefined;
  }

  #read(): void {
    this.#readAt = this.#clock.now();
    const reading = readCredentials(this.#access, this.#clock);
    this.#current = reading;
    reading.catch(() => this.discard(reading));
  }
}

async function readCredentials({ cluster, user }: ClusterAccess, clock: Clock): Promise<Credentials> {
  const ca = await fileOrData("certificate-authority", cluster.caFile, cluster.caData);
  const cert = await fileOrData("client-certificate", user?.certFile, user?.certData);
  const key = await fileOrData("client-key", user?.keyFile, user?.keyData);
  const own: TlsOptions = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(cluster.tlsServerName ? { servername: cluster.tlsServerName } : {}),
    ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
  };
  const impersonation: Record<string, string> = user?.impersonateUser
    ? { "impersonate-user": user.impersonateUser }
    : {};
  const { headers, tls } = user === undefined ? none : await authentication(user, clock);
  return { headers: { ...impersonation, ...headers }, tls: { ...own, ...tls } };
}

const none: Credentials = { headers: {}, tls: {} };

async function authentication(user: Readonly<User>, clock: Clock): Promise<Credentials> {
  const tokenFile: unknown = user.authProvider?.config?.tokenFile;
  if (typeof tokenFile === "string") {
    const token = (await readFileOf("token file", tokenFile)).toString("utf8").trim();
    return { headers: { authorization: bearer(token, `token file ${tokenFile}`) }, tls: {} };
  }
  if (user.token) return { headers: { authorization: bearer(user.token.trim(), `user ${user.name}`) }, tls: {} };
  if (user.username) {
    const basic = Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64");
    return { headers: { authorization: `Basic ${basic}` }, tls: {} };
  }
  if (user.exec || user.authProvider) return await pluginAuthentication(user, clock);
  return none;
}

/** Runs the plugin or authentication provider by `@kubernetes/client-node`, without its cache of earlier results. */
async function pluginAuthentication(user: Readonly<User>, clock: Clock): Promise<Credentials> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  // The TLS options of the cluster are applied elsewhere. The server's name only selects the agent, which is not used.
  config.loadFromClusterAndUser(
    { name: "cluster", server: "https://cluster", skipTLSVerify: false },
    withExecInfo(user),
  );
  const options: RequestOptions = {};
  await withTimeout(config.applyToHTTPSOptions(options), clock, `user ${user.name}`);
  const authorization = (options.headers as Record<string, string> | undefined)?.["Authorization"];
  if (authorization === undefined && options.cert === undefined) {
    throw new ApiError("configuration", `user ${user.name}: the plugin returned neither a token nor a certificate`);
  }
  return {
    headers: authorization === undefined ? {} : { authorization },
    tls: {
      ...(options.cert === undefined ? {} : { cert: options.cert as string }),
      ...(options.key === undefined ? {} : { key: options.key as string }),
    },
  };
}

/** Adds `KUBERNETES_EXEC_INFO`, which plugins require and `@kubernetes/client-node` does not set. */
function withExecInfo(user: Readonly<User>): User {
  if (!user.exec) return user;
  const apiVersion: unknown = user.exec.apiVersion ?? "client.authentication.k8s.io/v1";
  const value = JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { interactive: false } });
  return { ...user, exec: { ...user.exec, env: [...(user.exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value }] } };
}

async function withTimeout(work: Promise<void>, clock: Clock, subject: string): Promise<void> {
  let cancel = (): void => {};
  const timeout = new Promise<never>((_, reject) => {
    cancel = clock.after(pluginTimeoutMs, () =>
      reject(new ApiError("configuration", `${subject}: the plugin did not end within ${pluginTimeoutMs / 1000} s`)),
    );
  });
  try {
    await Promise.race([work, timeout]);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // A SyntaxError or TypeError quotes the output, which may contain a token.
    const isAboutOutput = error instanceof SyntaxError || error instanceof TypeError;
    const text = isAboutOutput ? "the plugin's output is no ExecCredential" : (error as Error).message.slice(0, 300);
    throw new ApiError("configuration", `${subject}: ${text.trim()}`);
  } finally {
    cancel();
  }
}

function bearer(token: string, subject: string): string {
  // Anything else cannot be sent in a header.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new ApiError("configuration", `${subject}: the token is empty or invalid`);
  return `Bearer ${token}`;
}

async function fileOrData(
  field: string,
  file: string | undefined,
  data: string | undefined,
): Promise<Buffer | undefined> {
  if (data) return Buffer.from(data, "base64");
  return file ? await readFileOf(field, file) : undefined;
}

async function readFileOf(field: string, file: string): Promise<Buffer> {
  return await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new ApiError("configuration", `${field} ${file}: ${error.code ?? error.message}`);
  });
}
