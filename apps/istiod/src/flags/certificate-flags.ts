import { enumSetting, integerSetting, listSetting, stringSetting } from "@istiod/settings";

/** The flags of the TLS servers, the certificate authority and callers' tokens. */
export const certificateFlags = {
  tlsCertFile: stringSetting({
    flag: "tlsCertFile",
    placeholder: "file",
    default: "",
    help: "certificate of the TLS servers, reloaded on change; empty for that in ./var/run/secrets/istiod, otherwise one of the CA",
  }),
  tlsKeyFile: stringSetting({
    flag: "tlsKeyFile",
    placeholder: "file",
    default: "",
    help: "key of --tlsCertFile, reloaded with it",
  }),
  caCertFile: stringSetting({
    flag: "caCertFile",
    placeholder: "file",
    default: "",
    help: "roots of --tlsCertFile, which are distributed in addition to the CA's own, and for client certificates of --caCertTrustDomain; reloaded on change",
  }),
  caCertTrustDomain: stringSetting({
    flag: "caCertTrustDomain",
    placeholder: "domain",
    default: "",
    isExtension: true,
    help: "trust domain of the roots in --caCertFile, whose identities they prove; empty to reject their certificates",
  }),
  tlsMinVersion: enumSetting<"1.2" | "1.3">(
    {
      flag: "tls-min-version",
      placeholder: "version",
      default: "1.2",
      help: "minimum TLS version of the TLS servers: 1.2 or 1.3",
    },
    ["1.2", "1.3"],
  ),
  tlsCipherSuites: listSetting({
    flag: "tls-cipher-suites",
    placeholder: "names",
    default: [],
    help: "TLS 1.2 cipher suites of the TLS servers by their names in Go, separated by commas; empty for the defaults",
  }),
  caDir: stringSetting({
    flag: "caDir",
    placeholder: "dir",
    default: "",
    help: "directory of the self-signed root, created if absent; empty for no CA unless one is plugged in by ROOT_CA_DIR",
    isExtension: true,
  }),
  caMaxQueuedRequests: integerSetting(
    {
      flag: "caMaxQueuedRequests",
      default: 5000,
      help: "maximum number of authenticated certificate requests that wait to be signed",
      isExtension: true,
    },
    { min: 1, max: 1_000_000 },
  ),
  tokenKeyFile: stringSetting({
    flag: "tokenKeyFile",
    placeholder: "file",
    default: "",
    help: "public keys that verify the tokens of `istiod token create`, as PEM or a JSON Web Key Set, reloaded on change",
    isExtension: true,
  }),
  tokensDir: stringSetting({
    flag: "tokensDir",
    placeholder: "dir",
    default: "",
    help: "directory of accepted bearer tokens: the file NAMESPACE/SERVICEACCOUNT holds one of at least 16 characters",
    isExtension: true,
  }),
} as const;
