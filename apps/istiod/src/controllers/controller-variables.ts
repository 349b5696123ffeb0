import { parsePrefix } from "@istiod/controllers";
import {
  booleanSetting,
  defineSetting,
  durationSetting,
  formatDurationMs,
  integerSetting,
  parseDurationMs,
  type Setting,
  stringSetting,
} from "@istiod/settings";

/** The environment variables of the controllers, which write to Kubernetes. */
export const controllerVariables = {
  leaderElection: booleanSetting({
    variable: "ENABLE_LEADER_ELECTION",
    default: true,
    help: "elect a leader for each controller; without it, only one istiod may run",
  }),
  rootConfigMap: stringSetting({
    variable: "PILOT_CA_CERT_CONFIGMAP",
    default: "istio-ca-root-cert",
    help: "name of the ConfigMap with the root certificates in every namespace",
  }),
  revocationConfigMap: stringSetting({
    variable: "PILOT_CRL_CONFIGMAP",
    default: "istio-ca-crl",
    help: "name of the ConfigMap with the revocation lists of a plugged-in CA in every namespace",
  }),
  clusterTrustBundles: booleanSetting({
    variable: "ENABLE_CLUSTER_TRUST_BUNDLE_API",
    default: false,
    help: "write the root certificates to a ClusterTrustBundle instead of ConfigMaps",
  }),
  ipv4Prefix: prefixSetting("PILOT_IP_AUTOALLOCATE_IPV4_PREFIX", 4, "240.240.0.0/16"),
  ipv6Prefix: prefixSetting("PILOT_IP_AUTOALLOCATE_IPV6_PREFIX", 6, "2001:2::/48"),
  externalIstiod: booleanSetting({
    variable: "EXTERNAL_ISTIOD",
    default: false,
    help: "write the root certificates to remote clusters whose namespace of istiod names this cluster in topology.istio.io/controlPlaneClusters",
  }),
  registersWorkloads: booleanSetting({
    variable: "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION",
    default: true,
    help: "create WorkloadEntries for connected workloads of WorkloadGroups",
  }),
  workloadGracePeriod: durationSetting({
    variable: "PILOT_WORKLOAD_ENTRY_GRACE_PERIOD",
    default: 10_000,
    help: "time after which the WorkloadEntry of a disconnected workload is deleted",
  }),
  validatesWorkloadIdentity: booleanSetting({
    variable: "ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY",
    default: true,
    help: "require the namespace and service account of a WorkloadEntry of the proxy that registers",
  }),
  analysisInterval: defineSetting<number>(
    {
      variable: "PILOT_ANALYSIS_INTERVAL",
      default: 10_000,
      help: "time within which findings are written to the status of objects although changes keep coming",
    },
    {
      type: "duration",
      expected: "a duration of 1s or more",
      parse(text) {
        const milliseconds = parseDurationMs(text);
        return milliseconds !== undefined && milliseconds >= 1000 ? milliseconds : undefined;
      },
      format: formatDurationMs,
    },
  ),
  statusWorkers: integerSetting(
    {
      variable: "PILOT_STATUS_MAX_WORKERS",
      default: 100,
      help: "maximum number of concurrent writes of findings to the status of objects",
    },
    { min: 1 },
  ),
  gatewayStatus: booleanSetting({
    variable: "PILOT_ENABLE_GATEWAY_API_STATUS",
    default: true,
    help: "write the status of the Gateway API's objects",
  }),
  gatewayDeployments: booleanSetting({
    variable: "PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER",
    default: true,
    help: "deploy the Gateways of the Gateway API: a Deployment, a Service and a ServiceAccount for each",
  }),
  gatewayClasses: booleanSetting({
    variable: "PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER",
    default: true,
    help: "create the GatewayClasses that istiod serves",
  }),
  copiesGatewayMetadata: booleanSetting({
    variable: "PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS",
    default: true,
    help: "copy the labels and annotations of a Gateway without spec.infrastructure to the objects that are deployed for it",
  }),
  agentgateway: booleanSetting({
    variable: "PILOT_ENABLE_AGENTGATEWAY",
    default: false,
    help: "deploy Gateways of the class istio-agentgateway; istiod does not configure agentgateway yet",
  }),
  nodeUntaint: booleanSetting({
    variable: "PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS",
    default: false,
    help: "remove a taint from nodes on which the CNI plugin is ready",
  }),
  nodeTaint: stringSetting({
    variable: "PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME",
    default: "cni.istio.io/not-ready",
    help: "key of that taint",
  }),
} as const;

function prefixSetting(variable: string, family: 4 | 6, fallback: string): Setting<string> {
  return defineSetting<string>(
    { variable, default: fallback, help: `range of the IPv${family} addresses that are allocated to ServiceEntries` },
    {
      type: "string",
      expected: `an IPv${family} prefix such as ${fallback}`,
      parse: (text) => (isPrefix(text, family) ? text : undefined),
      format: (text) => text,
    },
  );
}

function isPrefix(text: string, family: 4 | 6): boolean {
  try {
    parsePrefix(text, family);
    return true;
  } catch {
    return false;
  }
}
