import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Closers } from "@istiod/runtime";
import { eventually } from "../eventually.js";
import { type Mesh, startMesh } from "../mesh/mesh.js";
import { applicationPort, servicePort } from "../mesh/workload.js";
import { envoySecrets, type EnvoySecrets } from "./envoy-secrets.js";
import { MountedFiles } from "../mounted-files.js";
import { RotatingCa } from "./rotating-ca.js";
import { freshHeader, freshValue } from "./traffic-messages.js";
import { Traffic } from "./traffic.js";

export interface RotationOptions {
  readonly requestsPerSecond: number;
  /** One request in so many opens a new connection between the Envoys. */
  readonly freshEvery: number;
  /** Seconds after which agents renew certificates. */
  readonly renewalSeconds: number;
  /** Lifetime of workload certificates in seconds, for which istiod may be gone. */
  readonly certificateSeconds: number;
}

/** Numbers of TLS handshakes. */
export interface Handshakes {
  readonly all: number;
  /** Those that resumed a session, so that no certificate was verified. */
  readonly resumed: number;
}

/** The trust domains before and after the change. */
export const trustDomains = ["before.example", "after.example"] as const;
type TrustDomain = (typeof trustDomains)[number];

const workloads = ["client", "web"] as const;
const account = (app: string): string => `/ns/shop/sa/${app}`;

/** Strict mutual TLS, and a subset of the server, with a connection for each request, that a header selects. */
const objects = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: shop}
spec:
  host: web
  subsets:
  - name: kept
  - name: fresh
    trafficPolicy: {connectionPool: {http: {maxRequestsPerConnection: 1}}}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  hosts: [web]
  http:
  - match: [{headers: {${freshHeader}: {exact: ${freshValue}}}}]
    route: [{destination: {host: web, subset: fresh}}]
    retries: {attempts: 0}
  - route: [{destination: {host: web, subset: kept}}]
    retries: {attempts: 0}
`;

function meshConfig(trustDomain: TrustDomain, aliases: readonly TrustDomain[]): string {
  return `trustDomain: ${trustDomain}\ntrustDomainAliases: [${aliases.join(", ")}]\n`;
}

/** Two workloads with agents and Envoys, an istiod that can be killed, and requests from one to the other. */
export class RotationRig {
  readonly ca: RotatingCa;
  readonly mesh: Mesh;
  readonly traffic: Traffic;
  readonly #roots: ReadonlyMap<string, MountedFiles>;
  readonly #closers: Closers;
  #handshakes: Handshakes = { all: 0, resumed: 0 };

  private constructor(parts: Pick<RotationRig, "ca" | "mesh" | "traffic">, closers: Closers) {
    this.ca = parts.ca;
    this.mesh = parts.mesh;
    this.traffic = parts.traffic;
    this.#closers = closers;
    this.#roots = new Map(workloads.map((name) => [name, new MountedFiles(this.#mount(name, "istio"))]));
  }

  /** Starts everything. Requests flow from now on. @throws Error if there is no Envoy, or istiod is not built */
  static async start(options: RotationOptions): Promise<RotationRig> {
    const closers = new Closers();
    return closers.closeOnError(async () => {
      const directory = await mkdtemp(join(tmpdir(), "istiod-rotation-"));
      closers.defer(() => rm(directory, { recursive: true, force: true }));
      const ca = await RotatingCa.create(join(directory, "cacerts"));
      const mesh = await startRotatingMesh(ca, options);
      closers.defer(() => mesh.close());
      const traffic = await Traffic.start(
        {
          requestsPerSecond: options.requestsPerSecond,
          freshEvery: options.freshEvery,
          client: { host: mesh.workload("client").outbound, port: servicePort },
          application: { host: mesh.workload("web").address, port: applicationPort },
          host: `web:${servicePort}`,
        },
        [`spiffe://${trustDomains[0]}${account("client")}`],
      );
      closers.defer(() => traffic.close());
      return new RotationRig({ ca, mesh, traffic }, closers);
    });
  }

  /** Returns the secrets of both Envoys. */
  secrets(): Promise<readonly EnvoySecrets[]> {
    return Promise.all(workloads.map((name) => envoySecrets(this.mesh, name)));
  }

  /** Lets agents verify istiod by the roots of the CA, as the kubelet does when `istio-ca-root-cert` changes. */
  async mountRoots(): Promise<void> {
    for (const files of this.#roots.values()) await files.write({ "root-cert.pem": this.ca.roots });
  }

  /** Gives the agents the published revocation lists, as the kubelet does when `istio-ca-crl` changes. */
  async mountRevocationLists(): Promise<void> {
    for (const name of workloads)
      await new MountedFiles(this.#mount(name, "istio/crl")).write({ "ca-crl.pem": this.ca.revocationLists });
  }

  /**
   * Sets the trust domains of the mesh. The client may be known by each of them afterwards: a connection keeps the name
   * of the certificate with which it was opened.
   */
  async setTrustDomain(trustDomain: TrustDomain, aliases: readonly TrustDomain[]): Promise<void> {
    await this.traffic.expectPeers(trustDomains.map((domain) => `spiffe://${domain}${account("client")}`));
    await this.mesh.configure(meshConfig(trustDomain, aliases));
  }

  /** Returns the TLS handshakes that the server's Envoy has completed since the last call. */
  async takeHandshakes(): Promise<Handshakes> {
    const listener = `listener.${this.mesh.workload("web").address}_${servicePort}`;
    const [all = 0, resumed = 0] = await Promise.all(
      ["ssl.handshake", "ssl.session_reused"].map((name) => this.mesh.stat("web", `${listener}.${name}`)),
    );
    const { all: allBefore, resumed: resumedBefore } = this.#handshakes;
    this.#handshakes = { all, resumed };
    return { all: all - allBefore, resumed: resumed - resumedBefore };
  }

  /** Issues a certificate that is not istiod's, for the identity of the client. */
  issueStolen(): ReturnType<RotatingCa["issue"]> {
    return this.ca.issue(`spiffe://${trustDomains[0]}${account("client")}`);
  }

  /** Reports whether the server accepts a certificate. */
  async accepts(certificate: { readonly cert: string; readonly key: string }): Promise<boolean> {
    const { cert, key } = certificate;
    return this.mesh
      .enter("web", `https://web:${servicePort}/`, { tls: { cert, key, isUnverified: true, anyName: true } })
      .then(
        ({ status }) => status === 200,
        () => false,
      );
  }

  /** Waits until so many further requests were answered. */
  async untilAnswered(requests: number, withinMs: number): Promise<void> {
    const before = await this.traffic.count();
    await eventually(
      `${requests} requests are answered`,
      async () => (await this.traffic.count()) >= before + requests,
      withinMs,
    );
  }

  async close(): Promise<void> {
    await this.#closers.close();
  }

  #mount(workload: string, path: string): string {
    return join(this.mesh.work, "agents", workload, "var/run/secrets", path);
  }
}

function startRotatingMesh(ca: RotatingCa, options: RotationOptions): Promise<Mesh> {
  const { renewalSeconds, certificateSeconds } = options;
  const agent = {
    files: {
      // The volume exists before there are revocation lists.
      "var/run/secrets/istio/crl/.volume": "",
      "etc/istio/pod/annotations": 'sidecar.istio.io/statsInclusionPrefixes="listener."\n',
    },
    env: {
      SECRET_TTL: `${certificateSeconds}s`,
      SECRET_GRACE_PERIOD_RATIO: String(1 - renewalSeconds / certificateSeconds),
      PROXY_CONFIG_XDS_AGENT: "true",
    },
  };
  return startMesh({
    istiod: "process",
    pluggedInCa: ca.directory,
    istiodEnv: { ISTIO_MULTIROOT_MESH: "true" },
    meshConfig: meshConfig(trustDomains[0], []),
    objects,
    workloads: [
      { app: "client", ...agent },
      { app: "web", servesItself: true, ...agent },
    ],
  });
}
