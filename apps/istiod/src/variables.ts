import { type Feature, multiClusterGroup, productBounds } from "@istiod/config-schema";
import { gatewayApiFeatures } from "@istiod/gateway-api";
import { features } from "@istiod/push-context";
import { discoveryFeatures } from "@istiod/service-discovery";
import {
  booleanSetting,
  defineSetting,
  durationSetting,
  enumSetting,
  type Environment,
  integerSetting,
  listSetting,
  numberSetting,
  parseGoBoolean,
  readSettings,
  type SettingTable,
  stringSetting,
  variablesOf,
} from "@istiod/settings";
import { certificateVariables, jwksVariables } from "./certificate-variables.js";
import { flags } from "./flags.js";
import { controllerVariables } from "./controllers/controller-variables.js";
import { connectionVariables, streamVariables } from "./limit-variables.js";

/** Analysis of the configuration: findings are written to the status of objects, only logged, or not computed. */
export type AnalysisMode = "write" | "log" | "off";

const identityVariables = {
  podName: stringSetting({ variable: "POD_NAME", default: "", help: "name of the istiod Pod; empty for the hostname" }),
  revision: stringSetting({ variable: "REVISION", default: "", help: "revision of this istiod; empty for default" }),
} as const;

const sourceVariables = {
  kubeconfig: stringSetting({
    variable: "KUBECONFIG",
    default: "",
    help: "kubeconfig of the cluster, if --kubeconfig is not given and the file exists; with --configDir, only in a Pod",
  }),
  mcsApiGroup: stringSetting({
    variable: "MCS_API_GROUP",
    default: multiClusterGroup,
    help: "API group of ServiceExport and ServiceImport",
  }),
  mcsApiVersion: stringSetting({
    variable: "MCS_API_VERSION",
    default: "",
    help: "API version of ServiceExport and ServiceImport; empty for all known versions",
  }),
  clusterHost: stringSetting({
    variable: "KUBERNETES_SERVICE_HOST",
    default: "",
    help: "host of the API server of the cluster that istiod runs in, set by Kubernetes",
  }),
  sharedMeshConfig: stringSetting({
    variable: "SHARED_MESH_CONFIG",
    default: "",
    help: "ConfigMap of mesh configuration that applies before istiod's own",
  }),
  watchNamespace: stringSetting({
    variable: "ISTIO_WATCH_NAMESPACE",
    default: "",
    help: "namespace to which the cluster's watches are limited; empty for all",
  }),
  ignoredResources: stringSetting({
    variable: "PILOT_IGNORE_RESOURCES",
    default: "",
    help: "custom resources of the cluster that are not read, by the names of their definitions",
  }),
  includedResources: stringSetting({
    variable: "PILOT_INCLUDE_RESOURCES",
    default: "",
    help: "custom resources of the cluster that are read although PILOT_IGNORE_RESOURCES names them",
  }),
  remoteClusterTimeout: durationSetting({
    variable: "PILOT_REMOTE_CLUSTER_TIMEOUT",
    default: 30_000,
    help: "time after which istiod becomes ready without a remote cluster that has not synced; 0s to wait for it",
  }),
  kubeconfigDirectory: stringSetting({
    variable: "PILOT_MULTICLUSTER_KUBECONFIG_PATH",
    default: "",
    help: "directory of the kubeconfigs of remote clusters, watched; empty to read them from Secrets",
  }),
  allowedKubeconfigOptions: listSetting({
    variable: "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS",
    default: [],
    help: "credentials that kubeconfigs of remote clusters may have although they read files or run programs: clientKey, clientCertificate, certificateAuthority, tokenFile, exec, or the name of an auth provider",
  }),
} as const;

const webhookVariables = {
  platform: stringSetting({
    variable: "PLATFORM",
    default: "",
    help: "platform of the cluster; openshift gives injected proxies the user and group of their namespace",
  }),
  injectionEnabled: booleanSetting({
    variable: "INJECT_ENABLED",
    default: true,
    help: "serve the injection webhook",
  }),
  nativeSidecars: enumSetting<"true" | "false" | "auto">(
    {
      variable: "ENABLE_NATIVE_SIDECARS",
      default: "auto",
      help: "inject proxies as native sidecars: true, false, or auto where the nodes run Kubernetes 1.33 or newer",
    },
    ["true", "false", "auto"],
  ),
  injectionWebhookConfig: stringSetting({
    variable: "INJECTION_WEBHOOK_CONFIG_NAME",
    default: "istio-sidecar-injector",
    help: "empty to leave the CA bundles of injection webhooks alone; other values have no further effect, as in Istio",
  }),
  validationWebhookConfig: stringSetting({
    variable: "VALIDATION_WEBHOOK_CONFIG_NAME",
    default: "istio-istio-system",
    help: "empty to leave the configurations of validation webhooks alone; other values have no further effect, as in Istio",
  }),
} as const;

const pushVariables = {
  debounceAfter: durationSetting({
    variable: "PILOT_DEBOUNCE_AFTER",
    default: 100,
    help: "quiet period after a change before it is pushed",
  }),
  debounceMax: durationSetting({
    variable: "PILOT_DEBOUNCE_MAX",
    default: 10_000,
    help: "maximum delay of a push while changes keep arriving",
  }),
  edsDebounce: booleanSetting({
    variable: "PILOT_ENABLE_EDS_DEBOUNCE",
    default: true,
    help: "debounce changes of endpoints as well",
  }),
  pushThrottle: integerSetting({
    variable: "PILOT_PUSH_THROTTLE",
    default: 0,
    help: "maximum number of concurrent pushes; 0 for 15 plus 5 per CPU, at most 100",
  }),
  maxRequestsPerSecond: numberSetting({
    variable: "PILOT_MAX_REQUESTS_PER_SECOND",
    default: 0,
    help: "maximum rate of new xDS streams; 0 for 15 plus 5 per CPU, at most 100",
  }),
  analysis: defineSetting<AnalysisMode>(
    {
      variable: "PILOT_ENABLE_ANALYSIS",
      default: "log",
      help: "true writes the findings of the continuous analysis to the status of objects, false disables the analysis; by default, findings are only logged",
    },
    {
      type: "boolean",
      expected: "true or false",
      parse(text) {
        const value = parseGoBoolean(text);
        return value === undefined ? undefined : value ? "write" : "off";
      },
      format: (mode) => ({ write: "true", log: "", off: "false" })[mode],
    },
  ),
} as const;

const debugVariables = {
  debugOnHttp: booleanSetting({
    variable: "ENABLE_DEBUG_ON_HTTP",
    default: true,
    help: "serve debug endpoints on --httpAddr",
  }),
  debugAuthentication: booleanSetting({
    variable: "ENABLE_DEBUG_ENDPOINT_AUTH",
    default: true,
    help: "authenticate callers of debug endpoints",
  }),
  debugNamespaces: listSetting({
    variable: "DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES",
    default: [],
    help: "namespaces, in addition to the root namespace, whose workloads may call all debug endpoints",
  }),
  configAuthentication: booleanSetting({
    variable: "ENABLE_XDS_API_GENERATOR_AUTH",
    default: true,
    help: "serve configuration objects over xDS to authenticated callers of the root namespace only",
  }),
  adminEndpoints: booleanSetting({
    variable: "UNSAFE_ENABLE_ADMIN_ENDPOINTS",
    default: false,
    help: "serve debug endpoints that change the state of istiod",
  }),
  profiling: booleanSetting({
    variable: "ENABLE_PROFILING",
    default: true,
    help: "serve profiles at /debug/pprof/, like --profile",
  }),
  localMetricsOnly: booleanSetting({
    variable: "METRICS_LOCALHOST_ACCESS_ONLY",
    default: false,
    help: "serve metrics to callers on this machine only",
  }),
} as const;

/** The environment variables of istiod itself, by the groups of the reference. */
export const variableGroups = {
  Identity: identityVariables,
  Sources: sourceVariables,
  Pushes: pushVariables,
  "xDS streams": streamVariables,
  Connections: connectionVariables,
  "Certificate authority": certificateVariables,
  "Keys of tokens": jwksVariables,
  Controllers: controllerVariables,
  Webhooks: webhookVariables,
  "Debugging and metrics": debugVariables,
} as const;

/**
 * The environment variables of istiod itself that have no flag. Those that shape the proxies' configuration are
 * features of push-context and settings of service-discovery.
 */
export const variables = {
  ...identityVariables,
  ...sourceVariables,
  ...pushVariables,
  ...streamVariables,
  ...connectionVariables,
  ...certificateVariables,
  ...jwksVariables,
  ...controllerVariables,
  ...webhookVariables,
  ...debugVariables,
} as const;

/**
 * The features of service discovery and of the proxies' configuration. Those that flags set, or that other variables
 * have in common, are in one group only.
 */
export const featureGroups: Readonly<Record<string, SettingTable>> = {
  "Bounds of objects": settingsOf(productBounds),
  "Service discovery": settingsOf(discoveryFeatures),
  "Proxy configuration": settingsOf(features, { ...discoveryFeatures, ...productBounds }),
  "Gateway API": settingsOf(gatewayApiFeatures, { ...features, ...discoveryFeatures }),
};

/** Names of all variables that istiod reads. */
export const readVariables: ReadonlySet<string> = new Set([
  ...variablesOf(flags),
  ...variablesOf(variables),
  ...Object.values(featureGroups).flatMap(variablesOf),
]);

/** Reads every variable once, so that an invalid one fails the startup. @throws SettingError */
export function checkVariables(env: Environment): void {
  for (const table of [variables, ...Object.values(featureGroups)]) readSettings(table, env);
}

/** Returns the settings of features, without those whose variable another table has. */
function settingsOf(table: FeatureTable, excluded: FeatureTable = {}): SettingTable {
  const declared = new Set([
    ...Object.values(excluded).map(({ variable }) => variable),
    ...variablesOf(flags),
    ...variablesOf(variables),
  ]);
  return Object.fromEntries(
    Object.entries(table)
      .filter(([, { variable }]) => !declared.has(variable))
      .map(([name, { setting }]) => [name, setting]),
  );
}

type FeatureTable = Readonly<Record<string, Feature<unknown>>>;
