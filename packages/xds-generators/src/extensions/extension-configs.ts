import { create, toBinary } from "@bufbuild/protobuf";
import { secrets } from "@istiod/config-schema";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { WasmSchema as HttpWasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/wasm/v3/wasm";
import { WasmSchema as NetworkWasmSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/wasm/v3/wasm";
import { query, type QueryContext } from "@istiod/incremental";
import {
  applicableExtensions,
  declaredCredential,
  type Extension,
  isAuthenticated,
  isInSecretCluster,
  permittedExtension,
  rootNamespace,
  verifiedInNamespace,
  type WasmModule,
} from "@istiod/push-context";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { packAny } from "../envoy/any.js";
import { extensionConfigsAdded } from "../patches/extension-configs.js";
import { clustersOfProxy } from "../secrets/secrets.js";
import { wasmConfig } from "./wasm-config.js";

/** The configurations that patches add, and those of the Wasm extensions that apply to the client (ECDS). */
export const extensionConfigs = query("extensionConfigs", (q): ResourceSet => {
  const wasm = q.call(applicableExtensions).flatMap(({ resourceName }) => q.call(extensionConfig, resourceName) ?? []);
  const resources = [...q.call(extensionConfigsAdded).map(({ config }) => config), ...wasm];
  return resources.length === 0 ? ResourceSet.empty : ResourceSet.of(resources);
});

/**
 * The configuration of a Wasm extension by name, if the client may have it. One that does not apply any more is still
 * served, because filter chains that drain may use it. Source: pilot/pkg/networking/core/extension_config_builder.go.
 */
export const extensionConfig = query("extensionConfig", (q, name: string): Resource | undefined => {
  const extension = q.call(permittedExtension, name);
  if (extension?.config.case !== "wasm") return undefined;
  const config = wasmConfig(extension, extension.config.value, pullSecret(q, extension, extension.config.value));
  const typedConfig =
    extension.type === "network" ? packAny(NetworkWasmSchema, { config }) : packAny(HttpWasmSchema, { config });
  return resource(
    name,
    toBinary(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name, typedConfig })),
  );
});

/**
 * Returns the content of the module's pull secret, in the namespace of the extension; empty if it does not exist or the
 * client may not have it; undefined if the module has none.
 */
function pullSecret(q: QueryContext, { namespace }: Extension, { imagePullSecret }: WasmModule): string | undefined {
  if (imagePullSecret === "") return undefined;
  const reference = declaredCredential(imagePullSecret);
  const isPermitted = namespace === rootNamespace(q) ? q.ask(isAuthenticated) : q.ask(verifiedInNamespace, namespace);
  if (reference?.source !== "kubernetes" || !isPermitted || !q.call(isInSecretCluster)) return "";
  const keys = clustersOfProxy(q).map((cluster) => `${cluster}/${namespace}/${reference.name}`);
  const key = keys.find((each) => q.read(secrets, each) !== undefined);
  return key === undefined ? "" : q.call(dockerCredential, key);
}

/** Type and entry of a Secret with registry credentials. */
const dockerConfigType = "kubernetes.io/dockerconfigjson";
const dockerConfigEntry = ".dockerconfigjson";

/** The registry credentials in a Secret, by its key in the collection; empty if it is of another type. */
const dockerCredential = query("dockerCredential", (q, key: string): string => {
  const secret = q.read(secrets, key)?.spec;
  const content = secret?.type === dockerConfigType ? secret.data[dockerConfigEntry] : undefined;
  return new TextDecoder().decode(content);
});
