import {
  type ApiClient,
  ApiError,
  createApiClient,
  createObject,
  type KubernetesObject,
  parseKubeconfig,
  readObject,
  requestToken,
  type ResourceType,
} from "@istiod/kubernetes";
import { kubeconfigOf, type TestCluster } from "@istiod/outage";
import { observer } from "./objects.js";

const configMaps: ResourceType = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
const mutating: ResourceType = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
};
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";

/** The lock whose holder counts as the leader: that of the controller of `istio-ca-root-cert`. */
const leaderLock = { namespace: "istio-system", name: "istio-namespace-controller-election" };

/** The record of a leader lock, as client-go stores it. */
export interface LeaderRecord {
  readonly holderIdentity: string;
  /** Changes with each renewal. */
  readonly renewTime: string;
}

/** Reads and writes a cluster as its users do, not by way of the relay of the replicas. */
export class ClusterUser {
  readonly #client: ApiClient;

  private constructor(client: ApiClient) {
    this.#client = client;
  }

  static async connect(cluster: TestCluster): Promise<ClusterUser> {
    const access = await parseKubeconfig(cluster.directKubeconfig);
    return new ClusterUser(createApiClient(access, { userAgent: "availability", qps: 10_000, burst: 10_000 }));
  }

  /** Creates an object in a dry run: the webhooks are called, nothing is stored. Returns what would be stored. */
  async dryRun<T extends KubernetesObject>(type: ResourceType, object: T): Promise<T> {
    const create = (): Promise<unknown> => createObject(this.#client, type, object, { dryRun: true });
    return (await create().catch((error: unknown) => {
      // On a slow machine, the API server may close a connection that is being used again.
      if (error instanceof ApiError && error.code === "network") return create();
      throw error;
    })) as T;
  }

  /** Returns the roots in the ConfigMap of a namespace, undefined until a controller has written them. */
  async rootCertificates(namespace: string): Promise<string | undefined> {
    const found = await readObject<KubernetesObject & { readonly data?: Readonly<Record<string, string>> }>(
      this.#client,
      configMaps,
      { namespace, name: "istio-ca-root-cert" },
    ).catch(() => undefined);
    return found?.data?.["root-cert.pem"];
  }

  /** Returns the record of the leader lock; undefined if nobody holds it. */
  async leaderRecord(): Promise<LeaderRecord | undefined> {
    const found = await readObject<KubernetesObject>(this.#client, configMaps, leaderLock).catch(() => undefined);
    const text = found?.metadata?.annotations?.[leaderAnnotation];
    const record = text === undefined ? undefined : (JSON.parse(text) as LeaderRecord);
    return record?.holderIdentity ? record : undefined;
  }

  /** Returns the CA bundles of a configuration of injection webhooks, in base64. */
  async caBundle(name: string): Promise<string | undefined> {
    const found = await readObject<
      KubernetesObject & { readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[] }
    >(this.#client, mutating, { name });
    return found.webhooks?.[0]?.clientConfig.caBundle;
  }

  /** Returns what is missing until a revision's webhook validates, whatever happens; undefined if nothing is. */
  async validationState(revision: string): Promise<string | undefined> {
    const name = `istio-validator${revision === "default" ? "" : `-${revision}`}-istio-system`;
    const found = await readObject<
      KubernetesObject & { readonly webhooks?: readonly { readonly failurePolicy?: string }[] }
    >(
      this.#client,
      { ...mutating, kind: "ValidatingWebhookConfiguration", plural: "validatingwebhookconfigurations" },
      { name },
    );
    return found.webhooks?.[0]?.failurePolicy === "Fail" ? undefined : `${name} does not fail closed yet`;
  }

  /** Returns a kubeconfig of an istiod that only reads, so that it never leads. */
  async observerKubeconfig({ directKubeconfig }: TestCluster): Promise<string> {
    const { token } = await requestToken(this.#client, observer, { expirationSeconds: 86_400 });
    const { cluster } = (JSON.parse(directKubeconfig) as { clusters: [{ cluster: ServerOfKubeconfig }] }).clusters[0];
    const { server, "certificate-authority-data": authority } = cluster;
    const pem = authority === undefined ? undefined : Buffer.from(authority, "base64").toString();
    return kubeconfigOf(server, { token }, pem);
  }

  close(): void {
    this.#client.close();
  }
}

interface ServerOfKubeconfig {
  readonly server: string;
  readonly "certificate-authority-data"?: string;
}
