import { durationMs } from "@bufbuild/protobuf/wkt";
import { logLevelFault } from "@istiod/settings";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { ipFamilies } from "../node/addresses.js";
import type { Options } from "../options/table.js";

/** Builds Envoy's command line, as Istio's agent does. @param override JSON that Envoy merges over the bootstrap */
export function envoyArguments(
  bootstrapFile: string,
  config: ProxyConfig,
  options: Pick<Options, "proxyLogLevel" | "proxyComponentLogLevel" | "skipDeprecatedLogs" | "coreDump">,
  addresses: readonly string[],
  override: string | undefined,
  warn?: (message: string) => void,
): string[] {
  const { level, components } = splitLogLevel(soundLevels("--proxyLogLevel", options.proxyLogLevel, warn));
  const componentLevel = components || soundLevels("--proxyComponentLogLevel", options.proxyComponentLogLevel, warn);
  return [
    "-c",
    bootstrapFile,
    "--drain-time-s",
    wholeNumber(config.drainDuration ? durationMs(config.drainDuration) / 1000 : 0),
    // Clients are asked to disconnect when the drain starts, instead of gradually.
    "--drain-strategy",
    "immediate",
    "--local-address-ip-version",
    ipFamilies(addresses) === "v6" ? "v6" : "v4",
    "--file-flush-interval-msec",
    wholeNumber(config.fileFlushInterval ? durationMs(config.fileFlushInterval) : 1000),
    "--disable-hot-restart",
    "--allow-unknown-static-fields",
    ...(config.fileFlushMinSizeKb > 0 ? ["--file-flush-min-size-kb", String(config.fileFlushMinSizeKb)] : []),
    ...(level === "" ? [] : ["-l", level]),
    ...(componentLevel === "" ? [] : ["--component-log-level", componentLevel]),
    ...(options.skipDeprecatedLogs ? ["--skip-deprecated-logs"] : []),
    ...(options.coreDump ? ["--enable-core-dump"] : []),
    ...(override === undefined ? [] : ["--config-yaml", override]),
    ...((config.concurrency ?? 0) > 0 ? ["--concurrency", String(config.concurrency)] : []),
  ];
}

/** Returns the levels without those with which Envoy would exit. */
function soundLevels(flag: string, text: string, warn?: (message: string) => void): string {
  const sound = text.split(",").filter((part) => {
    const fault = logLevelFault(part);
    if (fault !== undefined) warn?.(`${flag}: ${fault}; leaving it out`);
    return fault === undefined;
  });
  return sound.join(",");
}

/** Returns a number within the range of Envoy's arguments, without a fraction. */
function wholeNumber(value: number): string {
  return String(Math.min(Math.max(Math.floor(value), 0), 2 ** 32 - 1));
}

/** Splits `warning,upstream:debug` into the default level and component levels. */
export function splitLogLevel(text: string): { level: string; components: string } {
  const parts = text.split(",").filter((part) => part !== "");
  return {
    level: parts.findLast((part) => !part.includes(":")) ?? "",
    components: parts.filter((part) => part.split(":").length === 2).join(","),
  };
}
