import { customResourceDefinitions } from "@istiod/cluster";
import { istioKinds } from "@istiod/config-schema";
import {
  type ApiClient,
  ApiError,
  applyObject,
  deleteObject,
  type KubernetesObject,
  readObject,
  requestToken,
  type ResourceType,
  withRetries,
} from "@istiod/kubernetes";
import { istiodUser } from "./kubeconfig.js";

/** An object as the synthetic mesh generates it. */
export interface MeshObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Metadata that the server sets. */
const serverMetadata = new Set(["creationTimestamp", "resourceVersion", "ownerReferences"]);
const clusterScoped = new Set([
  "Namespace",
  "Node",
  "CustomResourceDefinition",
  "ClusterRole",
  "ClusterRoleBinding",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
]);
const fieldManager = "outage";
const role = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: istiodUser } };
const roleBinding = { ...role, kind: "ClusterRoleBinding" };

/** The objects of a cluster, written by server-side apply. */
export class ClusterObjects {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** Defines Istio's kinds, and lets istiod read everything and keep its root certificate. */
  async prepare(): Promise<void> {
    for (const definition of definitions()) await this.#write(definition);
    for (const definition of definitions()) await this.#established(definition);
    const rules = [
      { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["create", "update"] },
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ];
    await this.#write({ ...role, kind: "ClusterRole", rules } as MeshObject);
    await this.allow();
  }

  /** Returns a token of a service account for istiod, valid for a day. */
  async issueToken(namespace: string, name: string): Promise<string> {
    const options = { audiences: ["istio-ca"], expirationSeconds: 86_400 };
    const { token } = await requestToken(this.#client, { namespace, name }, options);
    return token;
  }

  /** Returns the root certificate that istiod keeps in the cluster, in PEM. */
  async rootCertificate(): Promise<string> {
    const type = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
    const reference = { namespace: "istio-system", name: "istio-ca-secret" };
    const { data } = await readObject<KubernetesObject & { readonly data: Readonly<Record<string, string>> }>(
      this.#client,
      type,
      reference,
    );
    return Buffer.from(data["ca-cert.pem"] ?? "", "base64").toString("utf8");
  }

  /** Binds istiod's role. */
  async allow(): Promise<void> {
    const binding = {
      ...roleBinding,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: istiodUser },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: istiodUser }],
    };
    await this.#write(binding as MeshObject);
  }

  /** Revokes all permissions of istiod. */
  async revoke(): Promise<void> {
    await this.delete(roleBinding);
  }

  /** Deletes the definition of an Istio kind, and with it its objects. Waits for the end of both. */
  async undefine(kind: string): Promise<void> {
    const definition = definitionOf(kind);
    await this.delete(definition);
    await this.#until(async () => !(await this.#exists(definition)));
  }

  /** Defines an Istio kind. */
  async define(kind: string): Promise<void> {
    const definition = definitionOf(kind);
    await this.#write(definition);
    await this.#established(definition);
  }

  /** Creates or changes objects, with their status. */
  async write(objects: readonly MeshObject[]): Promise<void> {
    for (const object of objects) {
      const written = acceptedObject(object);
      await this.#write(written);
      if (object.kind === "Pod") await this.#write(written, "status");
    }
  }

  async delete(object: MeshObject): Promise<void> {
    const { name, namespace } = object.metadata;
    const reference = { name, ...(namespace !== undefined && { namespace }) };
    try {
      await withRetries(() => deleteObject(this.#client, typeOf(object), reference, { gracePeriodSeconds: 0 }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "not-found") throw error;
    }
  }

  async #write(object: MeshObject, subresource?: string): Promise<void> {
    const options = { fieldManager, force: true, ...(subresource !== undefined && { subresource }) };
    // On a slow machine, the server may close a connection that is being used again.
    await withRetries(() => applyObject(this.#client, typeOf(object), object as KubernetesObject, options));
  }

  async #established(definition: MeshObject): Promise<void> {
    await this.#until(async () => {
      const { status } = await readObject<KubernetesObject & { readonly status?: { conditions?: Condition[] } }>(
        this.#client,
        typeOf(definition),
        { name: definition.metadata.name },
      );
      return status?.conditions?.some(({ type, status: value }) => type === "Established" && value === "True") === true;
    });
  }

  async #exists(object: MeshObject): Promise<boolean> {
    try {
      await readObject(this.#client, typeOf(object), { name: object.metadata.name });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === "not-found") return false;
      throw error;
    }
  }

  async #until(check: () => Promise<boolean>): Promise<void> {
    for (const until = performance.now() + 60_000; !(await check());) {
      if (performance.now() > until) throw new Error("the cluster did not process a CustomResourceDefinition");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Returns the object without the fields that the server sets. It allocates the addresses of Services. */
function acceptedObject(object: MeshObject): MeshObject {
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !serverMetadata.has(name)));
  const plain = { ...object, metadata } as MeshObject & { readonly spec?: object };
  if (object.kind !== "Service") return plain;
  const spec = Object.entries(plain.spec ?? {}).filter(([name]) => name !== "clusterIP" && name !== "clusterIPs");
  return { ...plain, spec: Object.fromEntries(spec) } as MeshObject;
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
}

function definitions(): readonly MeshObject[] {
  const kinds = istioKinds.map(({ group, kind, versions }) => ({
    group,
    versions,
    kind,
    plural: pluralOf(kind),
    namespaced: true,
  }));
  return customResourceDefinitions(kinds) as readonly MeshObject[];
}

function definitionOf(kind: string): MeshObject {
  const found = definitions().find(({ metadata: { name } }) => name.startsWith(`${pluralOf(kind)}.`));
  if (found === undefined) throw new RangeError(`${kind} is not an Istio kind`);
  return found;
}

function typeOf({ apiVersion, kind }: MeshObject): ResourceType {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { group, version, kind, plural: pluralOf(kind), namespaced: !clusterScoped.has(kind) };
}

function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`;
}
