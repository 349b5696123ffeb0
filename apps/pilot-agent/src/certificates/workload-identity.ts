import { resolve } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "@istiod/settings";
import { caEndpoint, headersFrom } from "../control-plane.js";
import { AgentError, reasonOf } from "../errors.js";
import { LimitedLog } from "../log-limit.js";
import type { Log } from "../log.js";
import type { Options } from "../options/table.js";
import type { Proxy } from "../proxy.js";
import { MAX_REQUEST_BYTES, MAX_STREAMS, sdsRoutes } from "../sds/sds-service.js";
import { SocketServer } from "../socket-server.js";
import { acceptsConnections, checkSocket, listenOnSocket } from "../socket.js";
import { ServedCertificate } from "./served-certificate.js";
import { requestCertificate } from "./ca-client.js";
import { writeCertificate } from "./write-certificate.js";
import { mergeRoots, TrustAnchors } from "./trust-anchors.js";
import { CERTIFICATE_DIRECTORIES, hasCertificateFiles, workloadSecrets } from "./workload-secrets.js";
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
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  /** Called after each certificate signing request. */
  readonly onSigningRequest?: (ok: boolean) => void;
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

  /** Detects sockets of other processes. @throws AgentError `file` or `address` */
  static async prepare(inputs: WorkloadIdentityInputs): Promise<WorkloadIdentity> {
    const { options } = inputs;
    const socket = resolve(options.directory, SOCKET_DIRECTORY, options.workloadIdentitySocket);
    // A socket that WORKLOAD_IDENTITY_SOCKET_FILE names may belong to the user of its server, such as SPIRE's agent.
    if (options.workloadIdentitySocket === AGENT_SOCKET) await checkSocket(socket);
    const isExternal = await acceptsConnections(socket);
    if (!isExternal && options.workloadIdentitySocket !== AGENT_SOCKET) {
      throw new AgentError("address", `WORKLOAD_IDENTITY_SOCKET_FILE: no process serves certificates on ${socket}`);
    }
    return new WorkloadIdentity(
      inputs,
      isExternal,
      await acceptsConnections(resolve(options.directory, CREDENTIAL_SOCKET)),
    );
  }

  private constructor(inputs: WorkloadIdentityInputs, isExternal: boolean, credentialSocket: boolean) {
    const { options, log } = inputs;
    this.#inputs = inputs;
    this.credentialSocket = credentialSocket;
    this.filesSocket = isExternal ? FILES_SOCKET : undefined;
    const isProvided = CERTIFICATE_DIRECTORIES.some(
      (path) => path !== options.outputCerts && hasCertificateFiles(resolve(options.directory, path)),
    );
    this.#certificate = isExternal || isProvided || options.fileMountedCerts ? undefined : this.#createCertificate();
    const secrets = workloadSecrets({
      directory: resolve(options.directory),
      ...(this.#certificate ? { certificate: this.#certificate } : {}),
      ...(options.outputCerts ? { outputDirectory: options.outputCerts } : {}),
      anchors: this.#anchors,
      ...(options.revocationLists ? { revocationLists: resolve(options.directory, REVOCATION_LISTS) } : {}),
      quiet: options.fileDebounce,
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
    this.#certificate?.start();
  }

  /** Stops certificate rotation and the SDS server. */
  async close(): Promise<void> {
    this.#certificate?.stop();
    await this.#server.close();
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

  #createCertificate(): WorkloadCertificate {
    const { options, proxy, env, log, clock, onSigningRequest } = this.#inputs;
    const { podNamespace, serviceAccount, trustDomain } = options;
    const request = {
      ...caEndpoint(options, proxy.config),
      tokenFile: resolve(options.directory, options.tokenFile),
      identity: `spiffe://${trustDomain}/ns/${podNamespace}/sa/${serviceAccount}`,
      key: options,
      lifetime: options.secretTtl,
      clusterId: options.clusterId,
      certSigner: options.certSigner,
      headers: headersFrom(env, "CA_HEADER_"),
    };
    const certificate = new WorkloadCertificate({
      issue: async () => {
        try {
          const issued = await requestCertificate(request);
          onSigningRequest?.(true);
          return issued;
        } catch (error) {
          onSigningRequest?.(false);
          throw error;
        }
      },
      graceRatio: options.graceRatio,
      graceJitter: options.graceJitter,
      clock,
      log,
    });
    if (options.outputCerts !== "") {
      const directory = resolve(options.directory, options.outputCerts);
      certificate.watch(
        (issued) => void writeCertificate(directory, issued).catch((error: unknown) => log.error(reasonOf(error))),
      );
    }
    return certificate;
  }
}
