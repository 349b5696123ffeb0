import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { adminCalls, faultClient, type InjectableFaults } from "./fault-client.js";
import { clusterUnavailable, findServer } from "./find-server.js";

export interface ClusterOptions {
  /** Port on the loopback address. Default: one that the system assigns. */
  readonly port?: number;
  /** Offers faults to inject. Default `false`. */
  readonly faults?: boolean;
  /** Issuer of service account tokens. Default `https://kubernetes.default.svc.cluster.local`. */
  readonly issuer?: string;
  /** File that the server writes the administrator's kubeconfig to, and removes at its end. Default: none. */
  readonly kubeconfigFile?: string;
  /** Milliseconds until the server must be ready. Default 60,000. */
  readonly startTimeoutMs?: number;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A client certificate and its key, in PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** A running API server without objects of a user. Its files are removed when it stops. */
export interface Cluster {
  /** For example `https://127.0.0.1:6443`. */
  readonly url: string;
  /** Process ID of the server. */
  readonly pid: number;
  /** Certificate of the authority that signed the server's certificate, in PEM. */
  readonly certificateAuthority: string;
  /** Bearer token of the administrator, in the group `system:masters`. */
  readonly token: string;
  /** Client certificate of the administrator. */
  readonly clientCertificate: ClientCertificate;
  /** The administrator's kubeconfig, as YAML. */
  readonly kubeconfig: string;
  /** Resolves when the server has ended, by `stop` or by itself. */
  readonly ended: Promise<void>;
  /** Stops the server, and waits until it has ended. */
  stop(): Promise<void>;
}

export interface ClusterWithFaults extends Cluster {
  readonly faults: InjectableFaults;
  /** Issues a client certificate for a user and its groups. */
  issueClientCertificate(user: string, groups?: readonly string[]): Promise<ClientCertificate>;
}

interface Report {
  readonly url: string;
  readonly certificateAuthority: string;
  readonly token: string;
  readonly clientCertificate: string;
  readonly clientKey: string;
  readonly kubeconfig: string;
  readonly faultsUrl?: string;
  readonly faultsToken?: string;
}

/**
 * Starts an empty Kubernetes API server on this machine. It ends with this process, however that ends.
 *
 * @throws Error if there is no server (see `clusterUnavailable`), or it does not become ready
 */
export async function startCluster(options: ClusterOptions & { readonly faults: true }): Promise<ClusterWithFaults>;
export async function startCluster(options?: ClusterOptions): Promise<Cluster>;
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster | ClusterWithFaults> {
  const env = options.env ?? process.env;
  const binary = await findServer(env);
  if (!binary) throw new Error(await clusterUnavailable(env));
  const directory = await mkdtemp(join(tmpdir(), "istiod-cluster-"));
  const child = spawn(binary, serverArguments(options, directory), {
    env: env as NodeJS.ProcessEnv,
    // The server ends at the end of its standard input, which also comes if this process is killed.
    stdio: ["pipe", "pipe", "pipe"],
    // Ctrl-C in a terminal ends this process group only, whose processes may still need the server.
    detached: true,
  });
  const files = [directory, ...(options.kubeconfigFile === undefined ? [] : [options.kubeconfigFile])];
  const removeFiles = () => Promise.all(files.map((file) => rm(file, { recursive: true, force: true })));
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => void removeFiles().then(() => resolve(), resolve));
    child.once("error", () => resolve());
  });
  child.stdin.on("error", () => undefined);
  const stop = async (): Promise<void> => {
    // Its graceful shutdown takes eight seconds, and nothing that it would save is kept.
    child.kill("SIGKILL");
    await ended;
  };
  try {
    const report = await firstReport(child, options.startTimeoutMs ?? 60_000);
    return clusterOf(report, child.pid ?? 0, ended, stop);
  } catch (error) {
    child.kill("SIGKILL");
    await ended;
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

function serverArguments({ port = 0, faults, issuer, kubeconfigFile }: ClusterOptions, directory: string): string[] {
  const args = ["--watch-stdin", "--directory", directory, "--listen", `127.0.0.1:${port}`];
  if (faults) args.push("--faults");
  if (issuer !== undefined) args.push("--issuer", issuer);
  if (kubeconfigFile !== undefined) args.push("--kubeconfig", kubeconfigFile);
  return args;
}

type ServerProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Waits for the line that the server prints when it is ready. */
async function firstReport(child: ServerProcess, timeoutMs: number): Promise<Report> {
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-4000)));
  const timeout = AbortSignal.timeout(timeoutMs);
  const failure = Promise.race([
    once(child, "close", { signal: timeout }).then(([status]) => {
      const reason = errors.split("\n").findLast((line) => line.startsWith("istiod-cluster:")) ?? errors.trim();
      throw new Error(`the API server ended with status ${String(status)}: ${reason}`);
    }),
    once(child, "error", { signal: timeout }).then(([error]) => {
      throw error as Error;
    }),
  ]).catch((error: unknown) => {
    if (timeout.aborted) throw new Error(`the API server is not ready after ${timeoutMs} ms: ${errors.trim()}`);
    throw error;
  });
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), failure])) as [string];
  failure.catch(() => undefined);
  return JSON.parse(line) as Report;
}

function clusterOf(report: Report, pid: number, ended: Promise<void>, stop: () => Promise<void>): Cluster {
  const cluster: Cluster = {
    url: report.url,
    pid,
    certificateAuthority: report.certificateAuthority,
    token: report.token,
    clientCertificate: { certificate: report.clientCertificate, key: report.clientKey },
    kubeconfig: report.kubeconfig,
    ended,
    stop,
  };
  if (report.faultsUrl === undefined || report.faultsToken === undefined) return cluster;
  const call = adminCalls(report.faultsUrl, report.faultsToken);
  const withFaults: ClusterWithFaults = {
    ...cluster,
    faults: faultClient(call),
    issueClientCertificate: (user, groups = []) => call<ClientCertificate>("client-certificate", { user, groups }),
  };
  return withFaults;
}
