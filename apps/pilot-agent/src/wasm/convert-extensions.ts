import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type Any,
  anyPack,
  AnySchema,
  BytesValueSchema,
  StringValueSchema,
  StructSchema,
} from "@bufbuild/protobuf/wkt";
import { AsyncDataSourceSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { RBACSchema as HttpRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac";
import {
  type Wasm as HttpWasm,
  WasmSchema as HttpWasmSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/http/wasm/v3/wasm";
import { RBACSchema as NetworkRbacSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac";
import {
  type Wasm as NetworkWasm,
  WasmSchema as NetworkWasmSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/wasm/v3/wasm";
import { FailurePolicy, type VmConfig } from "@istiod/envoy-api/envoy/extensions/wasm/v3/wasm";
import { TypedStructSchema as UdpaTypedStructSchema } from "@istiod/envoy-api/udpa/type/v1/typed_struct";
import { TypedStructSchema } from "@istiod/envoy-api/xds/type/v3/typed_struct";
import { reasonOf } from "@istiod/runtime";
import type { Log } from "../log.js";
import type { Rewritten } from "../xds-proxy/agent-resources.js";
import type { ModuleRequest } from "./module-store.js";

/** Variables of a module's environment that are for the agent. Source: pkg/model/wasm.go. */
const agentPrefix = "ISTIO_META_";
const pullSecretVariable = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const pullPolicyVariable = "ISTIO_META_WASM_IMAGE_PULL_POLICY";
const resourceVersionVariable = "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION";
const defaultTimeout = 5000;

export interface ModuleFetcher {
  /** Returns the path of a module. */
  path(request: ModuleRequest): Promise<string>;
}

/**
 * Replaces the remote module of an extension configuration by a file, and removes what is for the agent from its
 * environment, such as the pull secret. If the module cannot be fetched, a policy takes the place of the extension: it
 * denies everything, or nothing if the extension fails open. Others are returned unchanged.
 * Source: pkg/wasm/convert.go.
 */
export async function convertExtension(config: Any, modules: ModuleFetcher, log: Log): Promise<Rewritten> {
  const unchanged = { config, isSubstitute: false };
  if (!isOf(config, TypedExtensionConfigSchema)) return unchanged;
  const extension = decoded(TypedExtensionConfigSchema, config);
  const packed = extension?.typedConfig;
  const filter = packed && wasmFilter(packed);
  if (extension === undefined || filter === undefined) return unchanged;
  const { schema, wasm } = filter;
  const packedAs = (typedConfig: Any): Any =>
    anyPack(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name: extension.name, typedConfig }));
  try {
    if (wasm.config?.vm.case === "vmConfig") await useFile(wasm.config.vm.value, extension.name, modules);
    return { config: packedAs(packedMessage(schema, wasm)), isSubstitute: false };
  } catch (error) {
    const opens = wasm.config?.failurePolicy === FailurePolicy.FAIL_OPEN;
    log.error(
      `${extension.name}: ${reasonOf(error)}; ${opens ? "requests pass without the extension" : "all requests are denied"}`,
    );
    return {
      config: packedAs(schema === HttpWasmSchema ? httpPolicy(opens) : networkPolicy(opens)),
      isSubstitute: true,
    };
  }
}

async function useFile(vm: VmConfig, resourceName: string, modules: ModuleFetcher): Promise<void> {
  const { keyValues = {}, hostEnvKeys = [] } = vm.environmentVariables ?? {};
  const kept = Object.entries(keyValues).filter(([name]) => !name.startsWith(agentPrefix));
  if (vm.environmentVariables !== undefined) vm.environmentVariables.keyValues = Object.fromEntries(kept);
  if (kept.length + hostEnvKeys.length === 0) delete vm.environmentVariables;
  if (vm.code?.specifier.case !== "remote") return;
  const { httpUri, sha256: checksum } = vm.code.specifier.value;
  const pullSecret = keyValues[pullSecretVariable];
  if (pullSecret === "") throw new Error("the pull secret of the module is missing");
  const filename = await modules.path({
    url: httpUri?.uri ?? "",
    checksum: checksum === "nil" ? "" : checksum,
    resourceName,
    resourceVersion: keyValues[resourceVersionVariable] ?? "",
    pullPolicy: keyValues[pullPolicyVariable] ?? "",
    pullSecret,
    timeout: httpUri?.timeout === undefined ? defaultTimeout : Number(httpUri.timeout.seconds) * 1000,
  });
  vm.code = create(AsyncDataSourceSchema, {
    specifier: { case: "local", value: { specifier: { case: "filename", value: filename } } },
  });
}

/** Returns a policy that denies everything, because it has no rule that allows, or nothing, because it has no rules. */
function httpPolicy(allows: boolean): Any {
  const rulesStatPrefix = statPrefix(allows);
  return anyPack(HttpRbacSchema, create(HttpRbacSchema, { rulesStatPrefix, ...(!allows && { rules: {} }) }));
}

function networkPolicy(allows: boolean): Any {
  const prefix = statPrefix(allows);
  return anyPack(NetworkRbacSchema, create(NetworkRbacSchema, { statPrefix: prefix, ...(!allows && { rules: {} }) }));
}

function statPrefix(allows: boolean): string {
  return `wasm-default-${allows ? "allow" : "deny"}`;
}

function isOf({ typeUrl }: Any, { typeName }: DescMessage): boolean {
  return typeUrl === `type.googleapis.com/${typeName}`;
}

function decoded<D extends DescMessage>(schema: D, { value }: Any): MessageShape<D> | undefined {
  try {
    return fromBinary(schema, value);
  } catch {
    return undefined;
  }
}

/** Messages that the configuration of a plugin may be packed as. */
const registry = createRegistry(BytesValueSchema, StringValueSchema, StructSchema);

type WasmSchema = typeof HttpWasmSchema | typeof NetworkWasmSchema;

/** Returns the Wasm filter in an extension configuration, which may be packed as a TypedStruct. */
function wasmFilter(packed: Any): { readonly schema: WasmSchema; readonly wasm: HttpWasm | NetworkWasm } | undefined {
  const struct = [UdpaTypedStructSchema, TypedStructSchema].find((each) => isOf(packed, each));
  const typed = struct && decoded(struct, packed);
  const typeUrl = typed?.typeUrl ?? packed.typeUrl;
  const schema = [HttpWasmSchema, NetworkWasmSchema].find((each) => typeUrl === `type.googleapis.com/${each.typeName}`);
  if (schema === undefined) return undefined;
  const wasm = typed === undefined ? decoded(schema, packed) : fromStruct(schema, typed.value ?? {});
  return wasm && { schema, wasm };
}

function fromStruct(schema: WasmSchema, value: JsonObject): HttpWasm | NetworkWasm | undefined {
  try {
    return fromJson(schema, value, { registry, ignoreUnknownFields: true });
  } catch {
    return undefined;
  }
}

function packedMessage(schema: DescMessage, message: Message): Any {
  return create(AnySchema, { typeUrl: `type.googleapis.com/${schema.typeName}`, value: toBinary(schema, message) });
}
