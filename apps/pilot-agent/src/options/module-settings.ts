import { durationSetting, integerSetting, stringSetting } from "@istiod/settings";

/** Variables about the modules of Wasm extensions, which the agent fetches for Envoy. */
export const moduleSettings = {
  moduleExpiry: durationSetting({
    variable: "WASM_MODULE_EXPIRY",
    default: 24 * 3_600_000,
    help: "time after its last use in which a Wasm module is kept",
  }),
  moduleRequestTimeout: durationSetting({
    variable: "WASM_HTTP_REQUEST_TIMEOUT",
    default: 15_000,
    help: "timeout of an HTTP request for a Wasm module",
  }),
  moduleAttempts: integerSetting(
    {
      variable: "WASM_HTTP_REQUEST_MAX_RETRIES",
      default: 5,
      help: "number of attempts to fetch a Wasm module by HTTP",
    },
    { min: 1 },
  ),
  moduleMaxBytes: integerSetting(
    {
      variable: "ISTIO_WASM_MAX_BINARY_SIZE_BYTES",
      default: 256 * 1024 * 1024,
      help: "maximum size of a Wasm module, before and after decompression",
    },
    { min: 1 },
  ),
  insecureModuleHosts: stringSetting({
    variable: "WASM_INSECURE_REGISTRIES",
    default: "",
    help: "hosts of Wasm modules whose certificates are not verified, separated by commas; registries among them may have plain HTTP; * for all",
  }),
  blockedModuleAddresses: stringSetting({
    variable: "BLOCKED_CIDRS_IN_WASM_FETCH",
    default: "",
    help: "CIDRs that Wasm modules are never fetched from, separated by commas, in addition to link-local addresses",
  }),
} as const;
