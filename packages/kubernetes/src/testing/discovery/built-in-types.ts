import type { ServedType } from "./served-type.js";

/** Flags: `n` namespaced, `s` status subresource, `g` generation. */
type Row = readonly [kind: string, plural: string, flags: string, shortNames?: string];

const core: readonly Row[] = [
  ["ConfigMap", "configmaps", "n", "cm"],
  ["Endpoints", "endpoints", "n", "ep"],
  ["Event", "events", "n", "ev"],
  ["LimitRange", "limitranges", "n", "limits"],
  ["Namespace", "namespaces", "s", "ns"],
  ["Node", "nodes", "s", "no"],
  ["PersistentVolume", "persistentvolumes", "s", "pv"],
  ["PersistentVolumeClaim", "persistentvolumeclaims", "ns", "pvc"],
  ["Pod", "pods", "nsg", "po"],
  ["PodTemplate", "podtemplates", "n"],
  ["ReplicationController", "replicationcontrollers", "nsg", "rc"],
  ["ResourceQuota", "resourcequotas", "ns", "quota"],
  ["Secret", "secrets", "n"],
  ["Service", "services", "ns", "svc"],
  ["ServiceAccount", "serviceaccounts", "n", "sa"],
];

const groups: Readonly<Record<string, readonly Row[]>> = {
  "admissionregistration.k8s.io/v1": [
    ["MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "g"],
    ["ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "g"],
    ["ValidatingAdmissionPolicy", "validatingadmissionpolicies", "sg"],
    ["ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "g"],
  ],
  "apiextensions.k8s.io/v1": [["CustomResourceDefinition", "customresourcedefinitions", "sg", "crd,crds"]],
  "apps/v1": [
    ["ControllerRevision", "controllerrevisions", "n"],
    ["DaemonSet", "daemonsets", "nsg", "ds"],
    ["Deployment", "deployments", "nsg", "deploy"],
    ["ReplicaSet", "replicasets", "nsg", "rs"],
    ["StatefulSet", "statefulsets", "nsg", "sts"],
  ],
  "autoscaling/v2": [["HorizontalPodAutoscaler", "horizontalpodautoscalers", "ns", "hpa"]],
  "batch/v1": [
    ["CronJob", "cronjobs", "nsg", "cj"],
    ["Job", "jobs", "nsg"],
  ],
  "certificates.k8s.io/v1": [["CertificateSigningRequest", "certificatesigningrequests", "s", "csr"]],
  "certificates.k8s.io/v1beta1": [["ClusterTrustBundle", "clustertrustbundles", ""]],
  "coordination.k8s.io/v1": [["Lease", "leases", "n"]],
  "discovery.k8s.io/v1": [["EndpointSlice", "endpointslices", "ng"]],
  "events.k8s.io/v1": [["Event", "events", "n", "ev"]],
  "networking.k8s.io/v1": [
    ["Ingress", "ingresses", "nsg", "ing"],
    ["IngressClass", "ingressclasses", "g"],
    ["NetworkPolicy", "networkpolicies", "ng", "netpol"],
  ],
  "policy/v1": [["PodDisruptionBudget", "poddisruptionbudgets", "nsg", "pdb"]],
  "rbac.authorization.k8s.io/v1": [
    ["ClusterRole", "clusterroles", ""],
    ["ClusterRoleBinding", "clusterrolebindings", ""],
    ["Role", "roles", "n"],
    ["RoleBinding", "rolebindings", "n"],
  ],
  "storage.k8s.io/v1": [["StorageClass", "storageclasses", "", "sc"]],
};

/** Types that every server has. Reviews, which are not stored, are not among them. */
export const builtInTypes: readonly ServedType[] = [
  ...core.map((row) => servedType("", "v1", row)),
  ...Object.entries(groups).flatMap(([groupVersion, rows]) => {
    const [group = "", version = ""] = groupVersion.split("/");
    return rows.map((row) => servedType(group, version, row));
  }),
];

function servedType(group: string, version: string, [kind, plural, flags, shortNames = ""]: Row): ServedType {
  return {
    group,
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced: flags.includes("n"),
    shortNames: shortNames === "" ? [] : shortNames.split(","),
    categories: ["pods", "services", "deployments"].includes(plural) ? ["all"] : [],
    versions: [{ name: version, hasStatus: flags.includes("s") }],
    hasGeneration: flags.includes("g"),
    isCustom: false,
  };
}
