import { enumSetting, stringSetting } from "@istiod/settings";
import { METADATA_HOST } from "../credentials/metadata-server.js";

/** Settings of the token that authenticates the workload. */
export const tokenSettings = {
  credentialFetcher: enumSetting<"JWT" | "GoogleComputeEngine" | "Mock">(
    {
      variable: "CREDENTIAL_FETCHER_TYPE",
      default: "JWT",
      help: "source of the workload's token: JWT for the file ISTIO_TOKEN_FILE; GoogleComputeEngine for the identity of the instance with the trust domain as audience, which is written to that file; Mock for a constant, for tests",
    },
    ["JWT", "GoogleComputeEngine", "Mock"],
  ),
  metadataHost: stringSetting({
    variable: "GCE_METADATA_HOST",
    default: METADATA_HOST,
    help: "address of the metadata server of CREDENTIAL_FETCHER_TYPE=GoogleComputeEngine",
  }),
  jwtPolicy: stringSetting({
    variable: "JWT_POLICY",
    default: "third-party-jwt",
    help: "kind of the token of CREDENTIAL_FETCHER_TYPE=JWT: third-party-jwt; others are treated the same, with a warning",
  }),
  tokenFile: stringSetting({
    variable: "ISTIO_TOKEN_FILE",
    default: "./var/run/secrets/tokens/istio-token",
    help: "file with the workload's token",
    isExtension: true,
  }),
} as const;
