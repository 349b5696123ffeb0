import http2 from "node:http2";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import type { SecureContextOptions } from "node:tls";
import { join } from "node:path";
import type { ConnectRouter, ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  CertificateAuthority,
  certificateRoutes,
  clientCertificates,
  connectionValues,
  issueServingCertificate,
  createSelfSignedRoot,
  selfSignedBundle,
  trustBundleOf,
  staticTokens,
  type StoredRoot,
} from "@istiod/ca";
import { AggregatedDiscoveryService } from "@istiod/envoy-api/envoy/service/discovery/v3/ads";
import { afterAll } from "vitest";

/** Creates a directory that is removed after the file's tests. Its path is short, as sockets' paths are limited. */
export async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "agent-"));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes a file and creates its parent directories. */
export async function put(path: string, text: string): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
}

/** Returns a free port. */
export async function freePort(address = "127.0.0.1"): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export type Ads = Partial<ServiceImpl<typeof AggregatedDiscoveryService>>;

export const TOKEN = "token-of-shop-cart";

/** An istiod with a certificate authority that accepts one token, and the given discovery service. */
export class FakeIstiod {
  readonly sessions = new Set<http2.ServerHttp2Session>();
  readonly headers: http2.IncomingHttpHeaders[] = [];
  readonly #connections = new Set<Socket>();
  #server: http2.Http2Server | http2.Http2SecureServer | undefined;
  port = 0;
  /** Called for each connection. */
  onSession: (session: http2.ServerHttp2Session) => void = () => undefined;

  private constructor(
    readonly authority: CertificateAuthority,
    private readonly ads: Ads,
    private readonly tls: boolean,
    private readonly serving: SecureContextOptions,
  ) {}

  static async start(
    ads: Ads = {},
    {
      tls = true,
      lifetime = undefined as number | undefined,
      serving = {} as SecureContextOptions,
      root: given = undefined as StoredRoot | undefined,
    } = {},
  ): Promise<FakeIstiod> {
    const root =
      given ??
      (await createSelfSignedRoot(
        { organization: "cluster.local", key: { type: "ecdsa", curve: "P-256" } },
        Date.now(),
      ));
    const authority = new CertificateAuthority({
      bundle: selfSignedBundle(root, "test", Date.now()),
      ...(lifetime ? { defaultLifetime: lifetime } : {}),
    });
    const istiod = new FakeIstiod(authority, ads, tls, serving);
    await istiod.listen();
    afterAll(() => istiod.stop());
    return istiod;
  }

  get root(): string {
    return this.authority.bundle.rootsPem;
  }

  async listen(): Promise<void> {
    const tokens = staticTokens([[TOKEN, { trustDomain: "cluster.local", namespace: "shop", serviceAccount: "cart" }]]);
    const ca = certificateRoutes({
      authority: this.authority,
      trustDomain: "cluster.local",
      authenticators: [
        clientCertificates({ bundles: () => [trustBundleOf("cluster.local", this.authority.bundle)] }),
        tokens,
      ],
      plaintext: !this.tls,
    });
    const routes = (router: ConnectRouter): void => {
      ca(router);
      router.service(AggregatedDiscoveryService, this.ads);
    };
    const handler = connectNodeAdapter({ routes, contextValues: connectionValues });
    const serving = await issueServingCertificate(
      this.authority,
      ["istiod.istio-system.svc", "127.0.0.1"],
      3600_000,
      Date.now(),
    );
    this.#server = this.tls
      ? http2.createSecureServer(
          {
            ...this.serving,
            key: serving.key,
            cert: serving.cert,
            ca: this.root,
            requestCert: true,
            rejectUnauthorized: false,
          },
          handler,
        )
      : http2.createServer(handler);
    this.#server.on("connection", (connection: Socket) => {
      this.#connections.add(connection);
      connection.on("close", () => this.#connections.delete(connection));
    });
    this.#server.on("session", (session: http2.ServerHttp2Session) => {
      this.sessions.add(session);
      this.onSession(session);
      session.on("close", () => this.sessions.delete(session));
      session.on("error", () => session.destroy());
    });
    this.#server.on("stream", (_stream: unknown, headers: http2.IncomingHttpHeaders) => this.headers.push(headers));
    await new Promise<void>((resolve) => this.#server!.listen(this.port, "127.0.0.1", resolve));
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Closes the server and its connections, as if the process was killed. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()));
    for (const session of this.sessions) session.destroy();
    // Those whose handshake has not ended have no session.
    for (const connection of this.#connections) connection.destroy();
    await closed;
    this.#server = undefined;
  }
}
