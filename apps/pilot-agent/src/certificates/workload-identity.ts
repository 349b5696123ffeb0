import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { resolve } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "../clock.js";
import { caEndpoint } from "../control-plane.js";
import { AgentError, reasonOf } from "../errors.js";
import type { Log } from "../log.js";
import type { Options } from "../options/table.js";
import type { Proxy } from "../proxy.js";
import { sdsRoutes } from "../sds/sds-service.js";
import { acceptsConnections, listenOnSocket } from "../socket.js";
import { requestCertificate } from "./ca-client.js";
import { writeCertificate } from "./write-certificate.js";
import { CERTIFICATE_DIRECTORIES, holdsCertificate, workloadSecrets } from "./workload-secrets.js";
import { WorkloadCertificate } from "./workload-certificate.js";

const SOCKET_DIRECTORY = "./var/run/secrets/workload-spiffe-uds";
const AGENT_SOCKET = "socket";
const FILES_SOCKET = "./var/run/secrets/credential-uds/files-socket";
const CREDENTIAL_SOCKET = "./var/run/secrets/credential-uds/socket";

export interface WorkloadIdentityOptions {
  readonly proxy: Proxy;
  readonly options: Options;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  /** Called after each certificate signing request. */
  readonly onSigningRequest?: (ok: boolean) => void;
}

/** The workload's certificates and the sockets on which Envoy is given them. */
export class WorkloadIdentity {
  /** Socket of files only, relative to the directory, where the workload's own socket is somebody else's (SPIRE). */
  readonly filesSocket: string | undefined;
  /** Whether somebody serves credentials by name. */
  readonly credentialSocket: boolean;
  readonly #setup: WorkloadIdentityOptions;
  readonly #certificate: WorkloadCertificate | undefined;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();

  /** Looks at which sockets there are. @throws AgentError `file` or `address` */
  static async prepare(setup: WorkloadIdentityOptions): Promise<WorkloadIdentity> {
    const { options } = setup;
    const socket = resolve(options.directory, SOCKET_DIRECTORY, options.workloadIdentitySocket);
    const foreign = await acceptsConnections(socket);
    if (!foreign && options.workloadIdentitySocket !== AGENT_SOCKET) {
      throw new AgentError(
        "address",
        `WORKLOAD_IDENTITY_SOCKET_FILE names ${socket}, but nobody serves certificates there`,
      );
    }
    return new WorkloadIdentity(
      setup,
      foreign,
      await acceptsConnections(resolve(options.directory, CREDENTIAL_SOCKET)),
    );
  }

  private constructor(setup: WorkloadIdentityOptions, foreign: boolean, credentialSocket: boolean) {
    const { options, log } = setup;
    this.#setup = setup;
    this.credentialSocket = credentialSocket;
    this.filesSocket = foreign ? FILES_SOCKET : undefined;
    const given = CERTIFICATE_DIRECTORIES.some(
      (path) => path !== options.outputCerts && holdsCertificate(resolve(options.directory, path)),
    );
    this.#certificate = foreign || given || options.fileMountedCerts ? undefined : this.#fromAuthority();
    const secrets = workloadSecrets({
      directory: resolve(options.directory),
      ...(this.#certificate ? { certificate: this.#certificate } : {}),
      ...(options.outputCerts ? { outputDirectory: options.outputCerts } : {}),
      quiet: options.fileDebounce,
      log,
    });
    this.#server = createServer(connectNodeAdapter({ routes: sdsRoutes(secrets, log) }));
    this.#server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => session.destroy());
    });
  }

  /** Serves secrets and asks for the first certificate. @throws AgentError `address` */
  async start(): Promise<void> {
    const { options } = this.#setup;
    await listenOnSocket(
      this.#server,
      resolve(options.directory, this.filesSocket ?? `${SOCKET_DIRECTORY}/${AGENT_SOCKET}`),
    );
    this.#certificate?.start();
  }

  /** Asks for no more certificates. */
  stop(): void {
    this.#certificate?.stop();
  }

  async close(): Promise<void> {
    this.stop();
    for (const session of this.#sessions) session.destroy();
    if (this.#server.listening) await new Promise<void>((done) => this.#server.close(() => done()));
  }

  /** Seconds until the workload's certificate expires, where there is one from the authority. */
  secondsToExpiry(): number | undefined {
    const current = this.#certificate?.current;
    return current && (current.notAfter - this.#setup.clock.now()) / 1000;
  }

  #fromAuthority(): WorkloadCertificate {
    const { options, proxy, env, log, clock, onSigningRequest } = this.#setup;
    const { podNamespace, serviceAccount, trustDomain } = options;
    const request = {
      ...caEndpoint(options, proxy.config),
      tokenFile: resolve(options.directory, options.tokenFile),
      identity: `spiffe://${trustDomain}/ns/${podNamespace}/sa/${serviceAccount}`,
      key: options,
      lifetime: options.secretTtl,
      clusterId: options.clusterId,
      certSigner: options.certSigner,
      headers: Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) =>
          name.startsWith("CA_HEADER_") && value !== undefined
            ? [[name.slice("CA_HEADER_".length).toLowerCase(), value]]
            : [],
        ),
      ),
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
