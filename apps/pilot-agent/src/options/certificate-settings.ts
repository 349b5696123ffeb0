import {
  booleanSetting,
  durationSetting,
  enumSetting,
  integerSetting,
  numberSetting,
  stringSetting,
} from "@istiod/settings";
import { tokenSettings } from "./token-settings.js";

/** Settings of the agent's certificates and of its connection to the control plane. */
export const certificateSettings = {
  caAddress: stringSetting({
    variable: "CA_ADDR",
    default: "",
    help: "address of the certificate authority; empty for the discovery address",
  }),
  caProvider: enumSetting<"Citadel">(
    { variable: "CA_PROVIDER", default: "Citadel", help: "kind of certificate authority; Citadel is istiod's" },
    ["Citadel"],
  ),
  caRoot: stringSetting({
    variable: "CA_ROOT_CA",
    default: "",
    help: "PEM file with the root certificates of the certificate authority, or SYSTEM; empty for ./var/run/secrets/istio/root-cert.pem",
  }),
  xdsRoot: stringSetting({
    variable: "XDS_ROOT_CA",
    default: "",
    help: "PEM file with the root certificates of istiod's xDS server, or SYSTEM; empty for ./var/run/secrets/istio/root-cert.pem",
  }),
  certProvider: stringSetting({
    variable: "PILOT_CERT_PROVIDER",
    default: "istiod",
    help: "source of istiod's certificate, which determines the default root for the certificate authority: istiod or k8s.io/<signer> for ./var/run/secrets/istio/root-cert.pem, custom for ./etc/certs/root-cert.pem, none for no default",
  }),
  istiodSan: stringSetting({
    variable: "ISTIOD_SAN",
    default: "",
    help: "name that istiod's certificate must have; empty for the host of the discovery address, or istiod.istio-system.svc for localhost; not used for an authority in CA_ADDR",
  }),
  secretTtl: durationSetting({
    variable: "SECRET_TTL",
    default: 24 * 3_600_000,
    help: "requested lifetime of certificates",
  }),
  graceRatio: numberSetting({
    variable: "SECRET_GRACE_PERIOD_RATIO",
    default: 0.5,
    help: "remaining fraction of a certificate's lifetime at which it is renewed",
  }),
  graceJitter: numberSetting({
    variable: "SECRET_GRACE_PERIOD_RATIO_JITTER",
    default: 0.01,
    help: "maximum jitter of that fraction, in both directions",
  }),
  rsaKeySize: integerSetting(
    { variable: "WORKLOAD_RSA_KEY_SIZE", default: 2048, help: "size of the workload's RSA key in bits" },
    { min: 2048 },
  ),
  eccAlgorithm: enumSetting<"" | "ECDSA">(
    {
      variable: "ECC_SIGNATURE_ALGORITHM",
      default: "",
      help: "elliptic curve algorithm of the workload's key: ECDSA; empty for RSA",
    },
    ["ECDSA"],
  ),
  eccCurve: enumSetting<"P256" | "P384">(
    { variable: "ECC_CURVE", default: "P256", help: "curve of an ECDSA key: P256 or P384" },
    ["P256", "P384"],
  ),
  pkcs8Key: booleanSetting({
    variable: "PKCS8_KEY",
    default: false,
    help: "encode keys as PKCS #8 instead of PKCS #1 and SEC 1; always with DISABLE_ENVOY",
  }),
  outputCerts: stringSetting({
    variable: "OUTPUT_CERTS",
    default: "",
    help: "directory to which key.pem, cert-chain.pem and root-cert.pem are written; empty to disable",
  }),
  kubernetesHost: stringSetting({
    variable: "KUBERNETES_SERVICE_HOST",
    default: "",
    help: "set by Kubernetes: the files of OUTPUT_CERTS are then readable by all containers that share the volume, otherwise by the agent's user only",
  }),
  provCert: stringSetting({
    variable: "PROV_CERT",
    default: "",
    help: "directory with key.pem, cert-chain.pem and root-cert.pem, which authenticate a virtual machine to istiod and its certificate authority until the certificate expires; read for each connection",
  }),
  fileMountedCerts: booleanSetting({
    variable: "FILE_MOUNTED_CERTS",
    default: false,
    help: "read certificates from files only, without a certificate authority",
  }),
  fileDebounce: durationSetting({
    variable: "FILE_DEBOUNCE_DURATION",
    default: 100,
    help: "quiet period after a change of a certificate file before it is read",
  }),
  revocationLists: booleanSetting({
    variable: "PILOT_ENABLE_CA_CRL",
    default: true,
    help: "check peers against the revocation lists in ./var/run/secrets/istio/crl/ca-crl.pem, if it exists",
  }),
  dynamicProxyConfig: booleanSetting({
    variable: "PROXY_CONFIG_XDS_AGENT",
    default: false,
    help: "also trust the root certificates that istiod sends (PCDS), as it does with ISTIO_MULTIROOT_MESH=true",
  }),
  workloadIdentitySocket: stringSetting({
    variable: "WORKLOAD_IDENTITY_SOCKET_FILE",
    default: "socket",
    help: "file name of the SDS socket in ./var/run/secrets/workload-spiffe-uds; another program must serve any but the default",
  }),
  certSigner: stringSetting({
    variable: "ISTIO_META_CERT_SIGNER",
    default: "",
    help: "signer that the certificate authority should use",
  }),
  ...tokenSettings,
  caPlaintext: booleanSetting({
    variable: "CA_PLAINTEXT",
    default: false,
    help: "connect to the certificate authority without TLS, as always to port 15010; only for trusted networks",
    isExtension: true,
  }),
} as const;
