import { statusKinds } from "@istiod/gateway-api";
import { analyzedTypes } from "../analysis-status/analyzed-types.js";
import { pluralOf } from "../controller/plural.js";
import { gatewayObjectKinds } from "../managed-gateways/gateway-object-kinds.js";

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The permissions that a controller needs. */
export interface Permissions {
  /** Rules of a ClusterRole. */
  readonly cluster: readonly PolicyRule[];
  /** Rules of a Role in istiod's namespace. */
  readonly systemNamespace?: readonly PolicyRule[];
}

const read = ["list", "watch"] as const;
const namespaces: PolicyRule = { apiGroups: [""], resources: ["namespaces"], verbs: read };
const tags: readonly PolicyRule[] = [
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: read,
  },
];

const gatewayApi = "gateway.networking.k8s.io";
const tagServices: PolicyRule = { apiGroups: [""], resources: ["services"], verbs: read };

/**
 * The permissions of each controller, and of leader election. Those of `leaderElection` are needed by all of them but
 * `webhooks`, `workloadRegistration` and `gatewayClasses`. With another `MCS_API_GROUP`, the rules of `serviceExports`
 * have that group.
 */
export const permissions = {
  leaderElection: {
    cluster: [
      { apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"], verbs: read },
    ],
    systemNamespace: [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "create", "update"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
    ],
  },
  namespaces: {
    cluster: [namespaces, { apiGroups: [""], resources: ["configmaps"], verbs: [...read, "get", "create", "update"] }],
  },
  clusterTrustBundles: {
    cluster: [
      {
        apiGroups: ["certificates.k8s.io"],
        resources: ["clustertrustbundles"],
        verbs: [...read, "get", "create", "update"],
      },
      {
        apiGroups: ["certificates.k8s.io"],
        resources: ["signers"],
        resourceNames: ["istio.io/istiod-ca"],
        verbs: ["attest"],
      },
    ],
  },
  ipAllocation: {
    cluster: [
      namespaces,
      { apiGroups: ["networking.istio.io"], resources: ["serviceentries"], verbs: read },
      { apiGroups: ["networking.istio.io"], resources: ["serviceentries/status"], verbs: ["patch"] },
    ],
  },
  ingressStatus: {
    cluster: [
      namespaces,
      ...tags,
      { apiGroups: [""], resources: ["services", "pods", "nodes"], verbs: read },
      { apiGroups: ["networking.k8s.io"], resources: ["ingresses", "ingressclasses"], verbs: read },
      { apiGroups: ["networking.k8s.io"], resources: ["ingresses/status"], verbs: ["patch"] },
    ],
  },
  serviceExports: {
    cluster: [
      namespaces,
      { apiGroups: [""], resources: ["services"], verbs: read },
      { apiGroups: ["multicluster.x-k8s.io"], resources: ["serviceexports"], verbs: [...read, "create"] },
    ],
  },
  workloadRegistration: {
    cluster: [
      { apiGroups: ["networking.istio.io"], resources: ["workloadgroups"], verbs: read },
      {
        apiGroups: ["networking.istio.io"],
        resources: ["workloadentries"],
        verbs: [...read, "create", "patch", "delete"],
      },
      { apiGroups: ["networking.istio.io"], resources: ["workloadentries/status"], verbs: ["patch"] },
    ],
  },
  webhooks: {
    cluster: [
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        verbs: [...read, "get", "update"],
      },
    ],
    // The dry run by which the validation webhook is probed.
    systemNamespace: [{ apiGroups: ["networking.istio.io"], resources: ["gateways"], verbs: ["create"] }],
  },
  analysisStatus: {
    cluster: [
      namespaces,
      ...analyzedTypes.flatMap(({ group, plural }): readonly PolicyRule[] => [
        { apiGroups: [group], resources: [plural], verbs: read },
        { apiGroups: [group], resources: [`${plural}/status`], verbs: ["patch"] },
      ]),
    ],
  },
  gatewayClasses: {
    cluster: [{ apiGroups: [gatewayApi], resources: ["gatewayclasses"], verbs: [...read, "create"] }],
  },
  gatewayDeployments: {
    cluster: [
      namespaces,
      ...tags,
      { apiGroups: [gatewayApi], resources: ["gatewayclasses", "gateways", "listenersets"], verbs: read },
      { apiGroups: [gatewayApi], resources: ["gateways/status"], verbs: ["patch"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: read },
      ...gatewayObjectKinds.map(({ type: { group, plural } }): PolicyRule => ({
        apiGroups: [group],
        resources: [plural],
        verbs: [...read, "create", "patch"],
      })),
    ],
  },
  gatewayStatus: {
    cluster: [
      namespaces,
      tagServices,
      ...tags,
      ...statusKinds.flatMap(({ kind: { group, kind } }): readonly PolicyRule[] => [
        { apiGroups: [group], resources: [pluralOf(kind)], verbs: read },
        { apiGroups: [group], resources: [`${pluralOf(kind)}/status`], verbs: ["patch"] },
      ]),
    ],
  },
  inferencePools: {
    cluster: [
      namespaces,
      tagServices,
      ...tags,
      { apiGroups: ["inference.networking.k8s.io"], resources: ["inferencepools"], verbs: read },
      { apiGroups: [""], resources: ["services"], verbs: [...read, "create", "patch"] },
    ],
  },
  nodeUntaint: {
    cluster: [
      { apiGroups: [""], resources: ["pods"], verbs: read },
      { apiGroups: [""], resources: ["nodes"], verbs: [...read, "patch"] },
    ],
  },
} as const satisfies Readonly<Record<string, Permissions>>;
