import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Any, AnySchema, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { type AsyncDataSource, AsyncDataSourceSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { FailurePolicy, type PluginConfig, PluginConfigSchema } from "@istiod/envoy-api/envoy/extensions/wasm/v3/wasm";
import { EnvValueSource, FailStrategy, PullPolicy } from "@istiod/istio-api/extensions/v1alpha1/wasm";
import type { Extension, WasmModule } from "@istiod/push-context";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";

/** Variables of the module's environment that tell the agent how to fetch it. Source: pkg/model/wasm.go. */
const pullSecretVariable = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const pullPolicyVariable = "ISTIO_META_WASM_IMAGE_PULL_POLICY";
const resourceVersionVariable = "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION";

/**
 * Returns Envoy's configuration of a module. Source: pilot/pkg/model/extensions.go.
 *
 * @param pullSecret content of the pull secret, which the agent removes before Envoy reads it; empty if the client may
 *   not have it; undefined if the module has none
 */
export function wasmConfig(
  { pluginName, resourceVersion }: Extension,
  module: WasmModule,
  pullSecret: string | undefined,
): PluginConfig {
  return create(PluginConfigSchema, {
    name: pluginName,
    rootId: module.pluginName,
    configuration: pluginConfiguration(module.pluginConfig),
    failurePolicy: failurePolicies[module.failStrategy],
    vm: {
      case: "vmConfig",
      value: {
        runtime: "envoy.wasm.runtime.v8",
        code: source(module),
        environmentVariables: {
          keyValues: environment(module, resourceVersion, pullSecret),
          hostEnvKeys: (module.vmConfig?.env ?? []).flatMap(({ name, valueFrom }) =>
            valueFrom === EnvValueSource.HOST ? [name] : [],
          ),
        },
      },
    },
  });
}

const failurePolicies: Readonly<Record<FailStrategy, FailurePolicy>> = {
  [FailStrategy.FAIL_CLOSE]: FailurePolicy.FAIL_CLOSED,
  [FailStrategy.FAIL_OPEN]: FailurePolicy.FAIL_OPEN,
  [FailStrategy.FAIL_RELOAD]: FailurePolicy.FAIL_RELOAD,
};

function environment(
  { imagePullPolicy, vmConfig }: WasmModule,
  resourceVersion: string,
  pullSecret: string | undefined,
): Record<string, string> {
  const inline = (vmConfig?.env ?? []).filter(({ valueFrom }) => valueFrom === EnvValueSource.INLINE);
  const variables = new Map<string, string>([
    ...(imagePullPolicy === PullPolicy.UNSPECIFIED_POLICY
      ? []
      : [[pullPolicyVariable, PullPolicy[imagePullPolicy]] as const]),
    [resourceVersionVariable, resourceVersion],
    ...inline.map(({ name, value }) => [name, value] as const),
  ]);
  // A user's value is no credential.
  variables.delete(pullSecretVariable);
  if (pullSecret !== undefined) variables.set(pullSecretVariable, pullSecret);
  return Object.fromEntries(variables);
}

/** The time within which the agent fetches a module. */
const fetchTimeout = duration(30_000);

function source({ url, sha256 }: WasmModule): AsyncDataSource {
  if (/^file:/i.test(url)) {
    const filename = url.replace(/^file:\/\//i, "");
    return create(AsyncDataSourceSchema, {
      specifier: { case: "local", value: { specifier: { case: "filename", value: filename } } },
    });
  }
  // The agent fetches the module, so that the cluster is never used.
  const httpUpstreamType = { case: "cluster", value: "_" } as const;
  const httpUri = { uri: withScheme(url), timeout: fetchTimeout, httpUpstreamType };
  return create(AsyncDataSourceSchema, { specifier: { case: "remote", value: { httpUri, sha256 } } });
}

/** Returns the URL with a scheme in lower case. A URL without one names an image. */
function withScheme(url: string): string {
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:\/\/)/.exec(url)?.[0];
  return scheme === undefined ? `oci://${url}` : `${scheme.toLowerCase()}${url.slice(scheme.length)}`;
}

/** The configuration of the plugin as JSON text. Present and empty if there is none, as Istio's. */
function pluginConfiguration(config: JsonObject | undefined): Any {
  return config === undefined || Object.keys(config).length === 0
    ? create(AnySchema)
    : packAny(StringValueSchema, { value: goJson(config) });
}

/** Returns JSON as Go's encoder writes it: with sorted keys, and without characters that HTML would interpret. */
function goJson(value: JsonValue): string {
  return JSON.stringify(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item as JsonValue)]));
}
