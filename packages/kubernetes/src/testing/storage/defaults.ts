import type { ServedType } from "../discovery/served-type.js";
import { type ApiObject, isJsonObject, type JsonObject, setField } from "./object.js";
import { defaultPodSpec, objectsIn, setDefaults } from "./pod-defaults.js";

const defaulters: Readonly<Record<string, (object: ApiObject, spec: JsonObject) => void>> = {
  "/secrets": (object) => {
    setDefaults(object, { type: "Opaque" });
    if (!isJsonObject(object.stringData)) return;
    const data: JsonObject = isJsonObject(object.data) ? { ...object.data } : {};
    for (const [key, text] of Object.entries(object.stringData)) {
      setField(data, key, Buffer.from(String(text)).toString("base64"));
    }
    object.data = data;
    delete object.stringData;
  },
  "/services": (_, spec) => {
    setDefaults(spec, { type: "ClusterIP", sessionAffinity: "None" });
    if (spec.type !== "ExternalName") setDefaults(spec, { internalTrafficPolicy: "Cluster" });
    for (const port of objectsIn(spec.ports)) setDefaults(port, { protocol: "TCP", targetPort: port.port });
    if (spec.type === "NodePort" || spec.type === "LoadBalancer")
      setDefaults(spec, { externalTrafficPolicy: "Cluster" });
    if (spec.type === "LoadBalancer") setDefaults(spec, { allocateLoadBalancerNodePorts: true });
  },
  "/pods": (_, spec) => {
    setDefaults(spec, { enableServiceLinks: true });
    defaultPodSpec(spec);
  },
  "/namespaces": (object, spec) => {
    setDefaults(spec, { finalizers: ["kubernetes"] });
    object.spec = spec;
    object.metadata.labels = { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name ?? "" };
  },
  "apps/deployments": (object, spec) => {
    setDefaults(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
    setDefaults(spec, {
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    });
    defaultTemplate(object, spec);
  },
  "apps/daemonsets": defaultTemplate,
  "apps/replicasets": defaultTemplate,
  "apps/statefulsets": defaultTemplate,
  "batch/jobs": defaultTemplate,
  "discovery.k8s.io/endpointslices": (object) => {
    for (const port of objectsIn(object.ports)) setDefaults(port, { name: "", protocol: "TCP" });
  },
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": (object) => {
    for (const webhook of objectsIn(object.webhooks)) setDefaults(webhook, { reinvocationPolicy: "Never" });
    defaultWebhooks(object);
  },
  "admissionregistration.k8s.io/validatingwebhookconfigurations": defaultWebhooks,
};

/** Sets the defaults of a built-in kind that clients rely on. Not all that a real server sets. */
export function setBuiltInDefaults(type: ServedType, object: ApiObject): void {
  if (type.isCustom) return;
  const spec = isJsonObject(object.spec) ? object.spec : {};
  defaulters[`${type.group}/${type.plural}`]?.(object, spec);
}

function defaultTemplate(_: ApiObject, spec: JsonObject): void {
  const { template } = spec;
  if (isJsonObject(template) && isJsonObject(template.spec)) defaultPodSpec(template.spec);
}

function defaultWebhooks(object: ApiObject): void {
  for (const webhook of objectsIn(object.webhooks)) {
    setDefaults(webhook, {
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
    });
    const { clientConfig } = webhook;
    if (isJsonObject(clientConfig) && isJsonObject(clientConfig.service))
      setDefaults(clientConfig.service, { port: 443 });
    for (const rule of objectsIn(webhook.rules)) setDefaults(rule, { scope: "*" });
  }
}
