import { integerSetting, type SettingValues, stringSetting } from "@istiod/settings";

/** The flags of how a serving istiod reads the directories of objects. */
export const configFileFlags = {
  stateDir: stringSetting({
    flag: "stateDir",
    placeholder: "dir",
    default: "",
    help: "directory of the last good versions of policies in --configDir or the cluster, which replicas can share; empty: a policy that is rejected at startup fails closed",
    isExtension: true,
  }),
  configSourceTokenFile: stringSetting({
    flag: "configSourceTokenFile",
    placeholder: "file",
    default: "",
    help: "bearer token for the xds:// servers of configSources that are called over TLS, read for each connection",
    isExtension: true,
  }),
  maxConfigFileBytes: integerSetting(
    {
      flag: "maxConfigFileBytes",
      placeholder: "bytes",
      default: 64 * 1024 * 1024,
      help: "maximum size of a file of objects; a larger one is rejected",
      isExtension: true,
    },
    { min: 1024, max: 512 * 1024 * 1024 },
  ),
  maxConfigFileDocuments: integerSetting(
    {
      flag: "maxConfigFileDocuments",
      placeholder: "number",
      default: 100_000,
      help: "maximum number of documents, and of items of long Lists, of a file of objects; a file with more is rejected",
      isExtension: true,
    },
    { min: 1 },
  ),
} as const;

/** Values of the flags of how directories of objects are read. */
export type ConfigFileFlags = SettingValues<typeof configFileFlags>;
