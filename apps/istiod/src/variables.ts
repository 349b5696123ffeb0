import { multiClusterGroup } from "@istiod/config-schema";
import type { Feature } from "@istiod/config-schema";
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
import { flags } from "./flags.js";
import { controllerVariables } from "./controllers/controller-variables.js";
import { connectionVariables, streamVariables } from "./limit-variables.js";

/** Analysis of the configuration: findings are written to the status of objects, only logged, or not computed. */
export type AnalysisMode = "write" | "log" | "off";

/** The authority that signs istiod's serving certificate: its own CA, or a Kubernetes signer. */
export type CertificateProvider = "istiod" | `k8s.io/${string}`;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

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
    help: "credentials that kubeconfigs of remote clusters may have although they read files or run programs: clientKey, clientCertificate, tokenFile, exec, or the name of an auth provider",
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

const certificateVariables = {
  rootCaDirectory: stringSetting({
    variable: "ROOT_CA_DIR",
    default: "./etc/cacerts",
    help: "directory of a plugged-in CA certificate and key",
  }),
  usesRemoteCerts: booleanSetting({
    variable: "USE_REMOTE_CERTS",
    default: false,
    help: "save the Secret cacerts of the cluster in ROOT_CA_DIR at startup, if that has no CA",
  }),
  multiRoot: booleanSetting({
    variable: "ISTIO_MULTIROOT_MESH",
    default: false,
    help: "let a reloaded plugged-in CA add and remove roots, and send the roots of the CA and of caCertificates in the mesh configuration to agents",
  }),
  revocationLists: booleanSetting({
    variable: "PILOT_ENABLE_CA_CRL",
    default: true,
    help: "check the revocation lists in ca-crl.pem of a plugged-in CA, and distribute them to all namespaces",
  }),
  externalCa: enumSetting<"" | "ISTIOD_RA_KUBERNETES_API">(
    {
      variable: "EXTERNAL_CA",
      default: "",
      help: "external authority that signs workload certificates: ISTIOD_RA_KUBERNETES_API for signers of the cluster; empty for istiod's own CA",
    },
    ["ISTIOD_RA_KUBERNETES_API"],
  ),
  defaultSigner: stringSetting({
    variable: "K8S_SIGNER",
    default: "",
    help: "signer of the cluster for requests that name none, if EXTERNAL_CA is set",
  }),
  signerDomain: stringSetting({
    variable: "CERT_SIGNER_DOMAIN",
    default: "",
    help: "domain of the signers that requests name (ISTIO_META_CERT_SIGNER), if EXTERNAL_CA is set",
  }),
  certificateProvider: defineSetting<CertificateProvider>(
    {
      variable: "PILOT_CERT_PROVIDER",
      default: "istiod",
      help: "authority that signs istiod's serving certificate: istiod, or k8s.io/ and a signer of the cluster, which requires EXTERNAL_CA",
    },
    {
      type: "string",
      expected:
        "istiod or k8s.io/<signer>; to serve another certificate, give --tlsCertFile, --tlsKeyFile and --caCertFile",
      parse: (text) => (text === "istiod" || isSignerProvider(text) ? text : undefined),
      format: String,
    },
  ),
  customHosts: listSetting({
    variable: "ISTIOD_CUSTOM_HOST",
    default: [],
    help: "additional host names of istiod's serving certificate",
  }),
  caServer: booleanSetting({
    variable: "ENABLE_CA_SERVER",
    default: true,
    help: "serve certificate signing requests",
  }),
  useCacerts: booleanSetting({
    variable: "USE_CACERTS_FOR_SELF_SIGNED_CA",
    default: false,
    help: "store the self-signed root of a cluster in the Secret cacerts instead of istio-ca-secret",
  }),
  tokenAudiences: listSetting({
    variable: "TOKEN_AUDIENCES",
    default: ["istio-ca"],
    help: "accepted audiences of the cluster's tokens, and of those of --tokenKeyFile",
  }),
  jwtRule: stringSetting({
    variable: "JWT_RULE",
    default: "",
    help: "issuer whose tokens authenticate callers: a JWTRule in JSON with issuer, audiences, and jwksUri, jwks or neither, to discover the keys",
  }),
  tokenIssuer: stringSetting({
    variable: "TOKEN_ISSUER",
    default: "",
    help: "OIDC issuer whose tokens authenticate requests for certificates, if istiod does not run in a Pod",
  }),
  audience: stringSetting({
    variable: "AUDIENCE",
    default: "",
    help: "audience of the tokens of TOKEN_ISSUER, required with it",
  }),
  trustedGateways: listSetting({
    variable: "TRUSTED_GATEWAY_CIDR",
    default: [],
    help: "ranges of addresses whose header x-forwarded-client-cert authenticates callers; this machine is then trusted as well",
  }),
  trustedNodeAccounts: listSetting({
    variable: "CA_TRUSTED_NODE_ACCOUNTS",
    default: [],
    help: "service accounts of node agents, as NAMESPACE/NAME, that may request certificates for the Pods on their nodes",
  }),
  xdsAuth: booleanSetting({
    variable: "XDS_AUTH",
    default: true,
    help: "authenticate xDS callers of the TLS port; without it, no proxy receives Secrets",
  }),
  xdsAuthPlaintext: booleanSetting({
    variable: "XDS_AUTH_PLAINTEXT",
    default: false,
    help: "also authenticate xDS callers of the plaintext port, by their tokens",
  }),
  xdsIdentityCheck: booleanSetting({
    variable: "PILOT_ENABLE_XDS_IDENTITY_CHECK",
    default: true,
    help: "reject xDS callers that claim another namespace or service account than theirs; without it, no proxy receives Secrets",
  }),
  workloadCertificateLifetime: durationSetting({
    variable: "DEFAULT_WORKLOAD_CERT_TTL",
    default: dayMs,
    help: "default lifetime of workload certificates",
  }),
  maxWorkloadCertificateLifetime: durationSetting({
    variable: "MAX_WORKLOAD_CERT_TTL",
    default: 90 * dayMs,
    help: "maximum lifetime of workload certificates",
  }),
  rootLifetime: durationSetting({
    variable: "CITADEL_SELF_SIGNED_CA_CERT_TTL",
    default: 3650 * dayMs,
    help: "lifetime of the self-signed root certificate",
  }),
  rootKeyBits: integerSetting(
    {
      variable: "CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE",
      default: 2048,
      help: "size of the self-signed root's RSA key in bits",
    },
    { min: 2048, max: 8192 },
  ),
  rootCheckInterval: durationSetting({
    variable: "CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL",
    default: hourMs,
    help: "interval of the check whether the self-signed root must be rotated; 0s to disable rotation",
  }),
  rootCheckJitter: booleanSetting({
    variable: "CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR",
    default: true,
    help: "delay the first check of the self-signed root by a random part of one interval, so that replicas check at different times",
  }),
  rootGracePercentile: integerSetting(
    {
      variable: "CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE",
      default: 20,
      help: "grace period before the expiry of the self-signed root in which it is rotated, in percent of its lifetime",
    },
    { min: 1, max: 99 },
  ),
} as const;

const jwksVariables = {
  jwksRefreshInterval: durationSetting({
    variable: "PILOT_JWT_PUB_KEY_REFRESH_INTERVAL",
    default: 20 * 60_000,
    help: "interval at which istiod fetches the keys of a jwksUri again",
  }),
  jwksBlockedRanges: listSetting({
    variable: "BLOCKED_CIDRS_IN_JWKS_URIS",
    default: [],
    help: "ranges of addresses from which istiod fetches no keys, in addition to link-local and cloud metadata addresses",
  }),
  rootsFile: stringSetting({
    variable: "SSL_CERT_FILE",
    default: "",
    help: "file of the roots trusted for servers of keys; empty for the system's",
  }),
  jwksInsecureSkipVerify: booleanSetting({
    variable: "JWKS_RESOLVER_INSECURE_SKIP_VERIFY",
    default: false,
    help: "accept any certificate of a server from which istiod fetches keys",
  }),
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

function isSignerProvider(text: string): text is `k8s.io/${string}` {
  return text.startsWith("k8s.io/") && text.length > "k8s.io/".length;
}

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
  "Service discovery": settingsOf(discoveryFeatures),
  "Proxy configuration": settingsOf(features, discoveryFeatures),
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
