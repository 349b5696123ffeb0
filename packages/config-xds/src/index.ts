export { type ConfigType, configTypes, configTypeUrl, findConfigType, meshConfigType } from "./config-type.js";
export { configMessageTypeOf, configResources } from "./config-resources.js";
export { type ConfigDocument, type ConfigIdentity, ConfigResourceError, decodeConfig } from "./decode-config.js";
export { encodeConfig } from "./encode-config.js";
export { servedConfig } from "./served-config.js";
export { XdsConfigSource, type XdsConfigSourceOptions } from "./xds-config-source.js";
