import { istioKinds } from "@istiod/config-schema";
import { istiodUser, type MeshObject } from "@istiod/outage";
import type { Endpoint } from "@istiod/e2e";

const rbac = "rbac.authorization.k8s.io";
const system = "istio-system";
/** The service account of istiods that only read. */
export const observer = { namespace: system, name: "observer" } as const;

/** Returns an object with any fields. */
const object = (apiVersion: string, kind: string, metadata: MeshObject["metadata"] & object, fields: object = {}) =>
  ({ apiVersion, kind, metadata, ...fields }) as MeshObject;

/** Returns the permissions: the replicas may do everything, since their RBAC is the charts' and tested there. */
export function permissions(): readonly MeshObject[] {
  const bind = (name: string, verbs: readonly string[], subject: object): MeshObject[] => [
    object(`${rbac}/v1`, "ClusterRole", { name }, { rules: [{ apiGroups: ["*"], resources: ["*"], verbs }] }),
    object(
      `${rbac}/v1`,
      "ClusterRoleBinding",
      { name },
      {
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
        subjects: [subject],
      },
    ),
  ];
  return [
    object("v1", "Namespace", { name: system }),
    object("v1", "ServiceAccount", observer),
    ...bind("availability", ["*"], { apiGroup: rbac, kind: "User", name: istiodUser }),
    ...bind("observer", ["get", "list", "watch"], { kind: "ServiceAccount", ...observer }),
  ];
}

/** Returns the Service of a revision, whose endpoint is the balancer of its webhooks. */
export function serviceOf(name: string, { host, port }: Endpoint): readonly MeshObject[] {
  const metadata = { name, namespace: system };
  return [
    object("v1", "Service", metadata, { spec: { ports: [{ name: "https-webhook", port: 443, protocol: "TCP" }] } }),
    object("discovery.k8s.io/v1", "EndpointSlice", labelled(metadata, { "kubernetes.io/service-name": name }), {
      addressType: "IPv4",
      endpoints: [{ addresses: [host], conditions: { ready: true } }],
      ports: [{ name: "https-webhook", port, protocol: "TCP" }],
    }),
  ];
}

/** Revision and Service that a webhook belongs to. */
export interface WebhookTarget {
  readonly revision: string;
  readonly service: string;
}

/** The tag by which namespaces and pods select their revision. */
export const tag = "prod";
const injectionPath = "/inject";

/** Returns the webhooks and the injection template of a revision. */
export function webhooksOf({ revision, service }: WebhookTarget): readonly MeshObject[] {
  const suffix = revision === "default" ? "" : `-${revision}`;
  return [
    object(
      "admissionregistration.k8s.io/v1",
      "ValidatingWebhookConfiguration",
      {
        ...labelled({ name: `istio-validator${suffix}-${system}` }, { "istio.io/rev": revision }),
      },
      {
        webhooks: [
          {
            ...webhook("rev.validation.istio.io", service, "/validate"),
            rules: [
              {
                operations: ["CREATE", "UPDATE"],
                apiGroups: [...new Set(istioKinds.map(({ group }) => group))],
                apiVersions: ["*"],
                resources: ["*"],
              },
            ],
            failurePolicy: "Ignore",
            objectSelector: { matchExpressions: [{ key: "istio.io/rev", operator: "In", values: [revision] }] },
          },
        ],
      },
    ),
    object(
      "v1",
      "ConfigMap",
      { name: `istio-sidecar-injector${suffix}`, namespace: system },
      {
        data: { config: injectionTemplate, values: JSON.stringify({ revision }) },
      },
    ),
    injector(`istio-sidecar-injector${suffix}`, { revision, service }, { "istio.io/rev": revision }, revision),
  ];
}

/**
 * Returns the webhook of the tag, which injects pods with the label `istio.io/rev: prod`.
 *
 * @param caBundle the bundle of the revision's own webhook, as `istioctl tag set` copies it
 */
export function tagWebhook(target: WebhookTarget, caBundle?: string): MeshObject {
  const labels = { "istio.io/rev": target.revision, "istio.io/tag": tag };
  return injector(`istio-revision-tag-${tag}`, target, labels, tag, caBundle);
}

function injector(
  name: string,
  { service }: WebhookTarget,
  labels: Readonly<Record<string, string>>,
  selected: string,
  caBundle?: string,
): MeshObject {
  const hook = webhook("rev.object.sidecar-injector.istio.io", service, injectionPath, caBundle);
  return object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", labelled({ name }, labels), {
    webhooks: [
      {
        ...hook,
        rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        failurePolicy: "Fail",
        objectSelector: { matchExpressions: [{ key: "istio.io/rev", operator: "In", values: [selected] }] },
      },
    ],
  });
}

function webhook(name: string, service: string, path: string, caBundle?: string): object {
  return {
    name,
    clientConfig: { service: { name: service, namespace: system, path }, ...(caBundle !== undefined && { caBundle }) },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 10,
  };
}

function labelled<M extends object>(metadata: M, labels: Readonly<Record<string, string>>): M {
  return { ...metadata, labels };
}

/** Adds a container that names the revision of the istiod that injected it. */
const injectionTemplate = `policy: enabled
templates:
  sidecar: |
    metadata:
      annotations:
        istio.io/rev: "{{ .Revision }}"
    spec:
      containers:
      - name: istio-proxy
        image: proxyv2
`;
