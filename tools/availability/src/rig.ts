import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IstiodProcess, Mesh, type ProxyPlace, startIstiod } from "@istiod/bench";
import { claimSubnet, type Subnet } from "@istiod/e2e";
import { eventually, type MeshObject, type TestCluster } from "@istiod/outage";
import { Closers } from "@istiod/runtime";
import { AdmissionCalls } from "./admission/admission-calls.js";
import { Changes } from "./changes.js";
import { ClusterUser } from "./cluster/cluster-user.js";
import { permissions, serviceOf, tagWebhook, webhooksOf } from "./cluster/objects.js";
import { ControlPlane } from "./control-plane/control-plane.js";
import { PluggedInCa } from "./control-plane/plugged-in-ca.js";
import { DataPlane } from "./data-plane/data-plane.js";
import { namespace } from "./data-plane/workload-objects.js";
import { Fleet } from "./fleet/fleet.js";
import { RootProjection } from "./root-projection.js";
import type { RigOptions } from "./rig-options.js";

const startMs = 180_000;
/** Services of the mesh that the streams belong to, at least, and the pods of each. */
const minServices = 40;
const podsOfService = 5;
/** Numbers of loopback addresses: of the pods with proxies from 1, of Services, and of the first istiod of each. */
const serviceAddresses = [200, 201] as const;
const istiodAddresses = [100, 150] as const;
const istiodsOfRevision = 40;

/** The parts that need a control plane. */
interface StartedParts {
  readonly dataPlane: DataPlane;
  readonly fleet: Fleet;
  readonly admission: AdmissionCalls;
}

/** Everything that runs: an API server, istiods, proxies, requests, changes and admission calls. */
export class Rig {
  readonly cluster: TestCluster;
  readonly user: ClusterUser;
  readonly options: RigOptions;
  readonly ca: PluggedInCa;
  readonly changes: Changes;
  readonly #subnet: Subnet;
  readonly #directory: string;
  readonly #closers: Closers;
  readonly #revisions: ControlPlane[] = [];
  readonly #mesh: Mesh;
  #parts: StartedParts | undefined;
  #roots: RootProjection | undefined;

  private constructor(
    options: RigOptions,
    parts: Pick<Rig, "cluster" | "user" | "ca"> & { mesh: Mesh; subnet: Subnet; directory: string; closers: Closers },
  ) {
    this.options = options;
    this.cluster = parts.cluster;
    this.user = parts.user;
    this.ca = parts.ca;
    this.changes = new Changes(parts.mesh, parts.cluster);
    this.#mesh = parts.mesh;
    this.#subnet = parts.subnet;
    this.#directory = parts.directory;
    this.#closers = parts.closers;
  }

  /** Starts everything. `close` does not stop the cluster. */
  static async start(cluster: TestCluster, options: RigOptions): Promise<Rig> {
    const closers = new Closers();
    return closers.closeOnError(async () => {
      const subnet = await claimSubnet();
      closers.defer(() => subnet.release());
      const directory = await mkdtemp(join(tmpdir(), "ha-"));
      closers.defer(() => rm(directory, { recursive: true, force: true }));
      const user = await ClusterUser.connect(cluster);
      closers.defer(() => user.close());
      const services = Math.max(minServices, Math.ceil(options.streams / podsOfService));
      const mesh = new Mesh({
        services,
        namespaces: Math.floor(services / 10),
        endpoints: podsOfService,
        proxies: options.streams,
        gatewayRoutes: 0,
        seed: 1,
      });
      const ca = await PluggedInCa.create(join(directory, "cacerts"));
      const rig = new Rig(options, { cluster, user, ca, mesh, subnet, directory, closers });
      await rig.#open();
      return rig;
    });
  }

  /** The control plane that the proxies connect to. */
  get controlPlane(): ControlPlane {
    const [current] = this.#revisions;
    if (current === undefined) throw new Error("there is no control plane");
    return current;
  }

  get dataPlane(): DataPlane {
    return this.#started.dataPlane;
  }

  get fleet(): Fleet {
    return this.#started.fleet;
  }

  get admission(): AdmissionCalls {
    return this.#started.admission;
  }

  /** Opens the control plane of another revision, with its webhooks. The proxies stay where they are. */
  async openRevision(revision: string): Promise<ControlPlane> {
    const at = this.#revisions.length % 2;
    const kubeconfig = join(this.#directory, "kubeconfig");
    const service = this.#subnet.address(serviceAddresses[at] ?? 0);
    const pod = (n: number): string => this.#subnet.address((istiodAddresses[at] ?? 0) + (n % istiodsOfRevision));
    const settings = { revision, kubeconfig, caDirectory: this.ca.directory };
    const opened = await ControlPlane.open(settings, { service, pod });
    this.#closers.defer(() => opened.close());
    this.#revisions.push(opened);
    await this.cluster.objects.write([
      ...serviceOf(opened.service, opened.webhooks),
      ...webhooksOf({ revision, service: opened.service }),
    ]);
    await opened.scale(this.options.replicas);
    return opened;
  }

  /** Makes a revision the one that new connections of the fleet and calls of the webhooks go to. */
  useRevision(next: ControlPlane): void {
    this.#revisions.splice(this.#revisions.indexOf(next), 1);
    this.#revisions.unshift(next);
  }

  /** Waits until every proxy has answers for all types. */
  async untilComplete(): Promise<void> {
    await eventually(
      () => (this.fleet.incomplete === 0 ? undefined : `${this.fleet.incomplete} proxies are incomplete`),
      startMs,
    );
  }

  /** Waits until the API server can call the webhooks of a revision, by the CA bundles that istiod writes. */
  async untilWebhooksAnswer({ revision }: ControlPlane): Promise<void> {
    const name = `istio-sidecar-injector${revision === "default" ? "" : `-${revision}`}`;
    await eventually(
      async () =>
        (await this.user.caBundle(name)) && (await this.user.caBundle("istio-revision-tag-prod"))
          ? this.user.validationState(revision)
          : "the injection webhooks have no CA bundle",
      startMs,
    );
  }

  /** Starts an istiod that reads the cluster without the relay, writes nothing, and serves plaintext. */
  async startFresh(): Promise<IstiodProcess> {
    const kubeconfig = join(this.#directory, "observer");
    await writeFile(kubeconfig, await this.user.observerKubeconfig(this.cluster), { mode: 0o600 });
    return startIstiod({ kubeconfig });
  }

  async close(): Promise<void> {
    await this.#closers.close();
  }

  get #started(): StartedParts {
    if (this.#parts === undefined) throw new Error("the rig has not started");
    return this.#parts;
  }

  async #open(): Promise<void> {
    const { cluster, user, options } = this;
    await cluster.objects.prepare();
    await cluster.objects.write([...permissions(), ...(this.#mesh.objects() as readonly MeshObject[])]);
    const places = this.#mesh.proxies();
    const tokens = await this.#tokens(places);
    await writeFile(join(this.#directory, "kubeconfig"), cluster.kubeconfig, { mode: 0o600 });
    const first = await this.openRevision("default");
    await cluster.objects.write([tagWebhook(first)]);
    const roots = new RootProjection(user, this.ca.rootsPem);
    this.#roots = roots;
    const fleet = new Fleet(() => this.#target(), places, tokens);
    this.#closers.defer(() => fleet.close());
    fleet.connect();
    const dataPlane = await DataPlane.start(
      {
        cluster,
        directory: this.#directory,
        requestsPerSecond: options.requestsPerSecond,
        drainSeconds: options.drainSeconds,
        certificateLifetime: options.certificateLifetime,
        rootsPem: () => roots.pem,
        addresses: (n) => ({ address: this.#subnet.address(n + 1), outbound: this.#subnet.outbound(n + 1) }),
      },
      first,
    );
    this.#closers.defer(() => dataPlane.close());
    roots.follow(namespace, (pem) => dataPlane.mountRoots(pem));
    this.#closers.defer(() => roots.close());
    await this.untilWebhooksAnswer(first);
    const admission = new AdmissionCalls(user, namespace, options.admissionMs, () => this.controlPlane.revision);
    this.#closers.defer(() => admission.close());
    this.#parts = { dataPlane, fleet, admission };
    await this.untilComplete();
    this.changes.start(options.changeMs);
    this.#closers.defer(() => this.changes.stop().catch(() => undefined));
  }

  /** Address of the fleet's next connection. */
  #target() {
    const { xds, serverName } = this.controlPlane;
    return { host: xds.host, port: xds.port, tls: { ca: this.#roots?.pem ?? "", servername: serverName } };
  }

  /** Returns the tokens of the proxies' accounts, by `namespace/serviceAccount`. */
  async #tokens(places: readonly ProxyPlace[]): Promise<ReadonlyMap<string, string>> {
    const tokens = new Map<string, string>();
    for (const { namespace: of, serviceAccount: name } of places) {
      if (tokens.has(`${of}/${name}`)) continue;
      await this.cluster.objects.write([
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: of } },
      ]);
      tokens.set(`${of}/${name}`, await this.cluster.objects.issueToken(of, name));
    }
    return tokens;
  }
}
