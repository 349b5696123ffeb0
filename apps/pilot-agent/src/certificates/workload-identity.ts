import { resolve } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "@istiod/runtime";
import { caEndpoint, headersFrom } from "../control-plane.js";
import type { TokenSource } from "../credentials/token-source.js";
import { AgentError } from "../errors.js";
import { LimitedLog } from "@istiod/logging";
import type { Log } from "../log.js";
import type { Options } from "../options/table.js";
import type { Proxy } from "../proxy.js";
import { MAX_REQUEST_BYTES, MAX_STREAMS, sdsRoutes } from "../sds/sds-service.js";
import { SocketServer } from "../socket-server.js";
import { checkSocket, listenOnSocket, servesHttp2 } from "../socket.js";
import { ServedCertificate } from "./served-certificate.js";
import { requestCertificate } from "./ca-client.js";
import { outputCertificates } from "./output-certificates.js";
import { mergeRoots, TrustAnchors } from "./trust-anchors.js";
import { WorkloadFiles } from "./workload-files.js";
import { workloadSecrets } from "./workload-secrets.js";
import { WorkloadCertificate } from "./workload-certificate.js";

const SOCKET_DIRECTORY = "./var/run/secrets/workload-spiffe-uds";
const AGENT_SOCKET = "socket";
const FILES_SOCKET = "./var/run/secrets/credential-uds/files-socket";
/** Spreads the renewals of all agents after a change of the mesh's roots. */
const ANCHOR_RENEWAL_MS = 10_000;
const REVOCATION_LISTS = "./var/run/secrets/istio/crl/ca-crl.pem";
const CREDENTIAL_SOCKET = "./var/run/secrets/credential-uds/socket";

export interface WorkloadIdentityInputs {
  readonly proxy: Proxy;
  readonly options: Options;
  readonly token: TokenSource;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  /** Called after each certificate signing request. */
  readonly onSigningRequest?: (outcome: { readonly ok: boolean; readonly milliseconds: number }) => void;
  /** Called when certificate files cannot be read or are invalid. */
  readonly onFileFailure?: () => void;
  /** Called when a limit of the SDS server closes a connection or ends a stream. */
  readonly onSdsLimit?: (reason: "connections" | "names") => void;
}

/** The workload's certificates and the SDS server that delivers them to Envoy. */
export class WorkloadIdentity {
  /**
   * Path of the agent's socket, which serves only certificate files if another process (SPIRE) serves the workload's
   * socket; relative to the agent's directory.
   */
  readonly filesSocket: string | undefined;
  /** Reports whether a process serves credentials by name. */
  readonly credentialSocket: boolean;
  readonly #inputs: WorkloadIdentityInputs;
  readonly #certificate: WorkloadCertificate | undefined;
  readonly #served: ServedCertificate;
  readonly #server: SocketServer;
  readonly #anchors = new TrustAnchors();
  #stopOutput: (() => Promise<void>) | undefined;

  /** Detects sockets of other processes. @throws AgentError `file` or `address` */
  static async prepare(inputs: WorkloadIdentityInputs): Promise<WorkloadIdentity> {
    const { options } = inputs;
    const socket = resolve(options.directory, SOCKET_DIRECTORY, options.workloadIdentitySocket);
    // A socket that WORKLOAD_IDENTITY_SOCKET_FILE names may belong to the user of its server, such as SPIRE's agent.
    if (options.workloadIdentitySocket === AGENT_SOCKET) await checkSocket(socket);
    const isExternal = await servesHttp2(socket);
    if (!isExternal && options.workloadIdentitySocket !== AGENT_SOCKET) {
      throw new AgentError("address", `WORKLOAD_IDENTITY_SOCKET_FILE: no process serves certificates on ${socket}`);
    }
    return new WorkloadIdentity(inputs, isExternal, await servesHttp2(resolve(options.directory, CREDENTIAL_SOCKET)));
  }

  private constructor(inputs: WorkloadIdentityInputs, isExternal: boolean, credentialSocket: boolean) {
    const { options, log } = inputs;
    this.#inputs = inputs;
    this.credentialSocket = credentialSocket;
    this.filesSocket = isExternal ? FILES_SOCKET : undefined;
    const files = new WorkloadFiles(options.directory, options.outputCerts);
    const isComplete = files.isProvided || (files.paths("certificate") && files.paths("roots"));
    this.#certificate = isExternal || isComplete || options.fileMountedCerts ? undefined : this.#createCertificate();
    const secrets = workloadSecrets({
      directory: resolve(options.directory),
      ...(this.#certificate ? { certificate: this.#certificate } : {}),
      files,
      anchors: this.#anchors,
      ...(options.revocationLists ? { revocationLists: resolve(options.directory, REVOCATION_LISTS) } : {}),
      quiet: options.fileDebounce,
      ...(inputs.onFileFailure && { onFailure: inputs.onFileFailure }),
      log,
    });
    this.#served = new ServedCertificate(secrets, this.#inputs.clock);
    const limitedLog = new LimitedLog(log);
    this.#server = new SocketServer({
      maxStreams: MAX_STREAMS,
      limited: () => {
        inputs.onSdsLimit?.("connections");
        limitedLog.write("warn", "too many connections to the SDS server, closing the newest");
      },
    });
    const { privateKeyProvider } = inputs.proxy.config;
    const routes = sdsRoutes(this.#served, {
      ...(privateKeyProvider && { privateKeyProvider }),
      limited: () => inputs.onSdsLimit?.("names"),
      log,
    });
    this.#server.http.on("request", connectNodeAdapter({ routes, readMaxBytes: MAX_REQUEST_BYTES }));
  }

  /** Starts the SDS server and requests the first certificate. @throws AgentError `address` */
  async start(): Promise<void> {
    const { options } = this.#inputs;
    await listenOnSocket(
      this.#server.http,
      resolve(options.directory, this.filesSocket ?? `${SOCKET_DIRECTORY}/${AGENT_SOCKET}`),
    );
    if (options.outputCerts !== "") this.#outputCertificates();
    this.#certificate?.start();
  }

  /** Stops certificate rotation, waits for files of OUTPUT_CERTS that are being written, and stops the SDS server. */
  async close(): Promise<void> {
    this.#certificate?.stop();
    await Promise.all([this.#stopOutput?.(), this.#server.close()]);
  }

  /**
   * Replaces the roots that istiod adds to those of the workload's own certificate. A certificate that was issued
   * before is renewed within ten seconds: its CA may be about to be removed.
   */
  setTrustAnchors(roots: readonly string[]): void {
    const issued = this.#certificate?.current?.roots ?? "";
    const before = mergeRoots(issued, this.#anchors.current);
    this.#anchors.set(roots);
    if (mergeRoots(issued, roots) !== before) this.#certificate?.renewWithin(ANCHOR_RENEWAL_MS);
  }

  /** Returns the seconds until the certificate issued by the authority expires; `undefined` if there is none. */
  secondsToExpiry(): number | undefined {
    const current = this.#certificate?.current;
    return current && (current.notAfter - this.#inputs.clock.now()) / 1000;
  }

  /** @throws AgentError `authority` if the certificate that Envoy has is expired */
  checkValid(): void {
    this.#served.checkValid();
  }

  #outputCertificates(): void {
    const { options, log } = this.#inputs;
    if (this.filesSocket !== undefined)
      return log.warn("OUTPUT_CERTS is ignored: another process has the workload's certificate");
    const directory = resolve(options.directory, options.outputCerts);
    this.#stopOutput = outputCertificates(this.#served, { directory, isShared: options.kubernetesHost !== "", log });
  }

  #createCertificate(): WorkloadCertificate {
    const { options, proxy, token, env, log, clock, onSigningRequest } = this.#inputs;
    const { podNamespace, serviceAccount, trustDomain } = options;
    const request = {
      ...caEndpoint(options, proxy.config),
      token,
      identity: `spiffe://${trustDomain}/ns/${podNamespace}/sa/${serviceAccount}`,
      // Applications read the key without Envoy, and gRPC in Java reads PKCS #8 only.
      key: { ...options, pkcs8Key: options.pkcs8Key || options.disableEnvoy },
      lifetime: options.secretTtl,
      clusterId: options.clusterId,
      certSigner: options.certSigner,
      headers: headersFrom(env, "CA_HEADER_"),
      clock,
      log,
    };
    return new WorkloadCertificate({
      issue: async () => {
        const start = clock.now();
        let ok = false;
        try {
          const issued = await requestCertificate(request);
          ok = true;
          return issued;
        } finally {
          onSigningRequest?.({ ok, milliseconds: clock.now() - start });
        }
      },
      graceRatio: options.graceRatio,
      graceJitter: options.graceJitter,
      clock,
      log,
    });
  }
}
