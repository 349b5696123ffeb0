import {
  booleanSetting,
  defineSetting,
  durationSetting,
  enumSetting,
  integerSetting,
  listSetting,
  stringSetting,
} from "@istiod/settings";

/** The authority that signs istiod's serving certificate: its own CA, or a Kubernetes signer. */
export type CertificateProvider = "istiod" | `k8s.io/${string}`;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The certificate authority, the serving certificate, and the authentication of callers. */
export const certificateVariables = {
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
    help: "have a CA, which issues certificates and whose roots are distributed; without it, certificates come from elsewhere",
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

/** Keys that istiod fetches. */
export const jwksVariables = {
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

function isSignerProvider(text: string): text is `k8s.io/${string}` {
  return text.startsWith("k8s.io/") && text.length > "k8s.io/".length;
}
