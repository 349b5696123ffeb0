import { EnvValueSource, type VmConfig } from "@istiod/istio-api/extensions/v1alpha1/wasm";
import { each, type Place } from "../../validation/place.js";
import { atMost, matches, required, size, uniqueBy, type Shape } from "../../validation/shape.js";

/** The fields that WasmPlugin and TrafficExtension have in common. */
interface WasmModule {
  readonly url: string;
  readonly imagePullSecret?: string;
  readonly vmConfig?: VmConfig | undefined;
}

/** Returns the shape of a module at a path; empty for the spec itself. */
export function wasmShape(path: string): Shape {
  const at = (field: string): string => (path === "" ? field : `${path}.${field}`);
  return {
    ...(path !== "" && { [path]: required("url") }),
    [at("url")]: size(1, Number.POSITIVE_INFINITY),
    [at("imagePullSecret")]: size(1, 253),
    [at("pluginName")]: size(1, 256),
    [at("sha256")]: matches(/^(?:[a-f0-9]{64})?$/, "64 hexadecimal digits in lower case"),
    [at("vmConfig.env")]: [atMost(256), uniqueBy("name")],
    [at("vmConfig.env[]")]: required("name"),
    [at("vmConfig.env[].name")]: size(1, 256),
    [at("vmConfig.env[].value")]: atMost(2048),
  };
}

export function checkWasm(module: WasmModule, place: Place): void {
  if (module.url === "") place.at("url").error("is missing, expected the URL of the module");
  else if (!isModuleUrl(module.url))
    place.at("url").error(`is ${JSON.stringify(module.url)}, expected a URL with http://, https://, oci:// or file://`);
  else if (/^(?:https?|oci|file):?\/+(?!\/)/i.test(module.url) && !module.url.includes("://"))
    place
      .at("url")
      .warning(`is ${JSON.stringify(module.url)}, which is read as the name of an image; write :// after the scheme`);
  const [, scheme = "", rest = ""] = /^(https?|file):\/\/(.*)$/is.exec(module.url) ?? [];
  if (scheme.toLowerCase() === "file" && !rest.startsWith("/"))
    place
      .at("url")
      .warning(
        `is ${JSON.stringify(module.url)}, whose path is not absolute, expected ${JSON.stringify(`file:///${rest}`)}`,
        "literal",
      );
  if (scheme !== "" && (module.imagePullSecret ?? "") !== "")
    place
      .at("imagePullSecret")
      .warning(`has no effect: only images of registries are pulled with it, and url is ${scheme}://`, "no-effect");
  each(module.vmConfig?.env ?? [], place.at("vmConfig", "env"), ({ valueFrom, value }, at) => {
    if (valueFrom !== EnvValueSource.INLINE && value !== "")
      at.at("value").error("is set, expected none where valueFrom is not INLINE");
  });
}

/** Reports whether a module's URL is valid. Without a scheme it is an image name. */
function isModuleUrl(url: string): boolean {
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return !url.includes("://") && URL.canParse(`http://${url}`) && !/[\s#]/.test(url);
  return ["http", "https", "oci", "file"].includes(scheme) && URL.canParse(url);
}
