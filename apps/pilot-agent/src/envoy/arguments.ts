import { durationMs } from "@bufbuild/protobuf/wkt";
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
): string[] {
  const { level, components } = splitLogLevel(options.proxyLogLevel);
  const componentLevel = components || options.proxyComponentLogLevel;
  return [
    "-c",
    bootstrapFile,
    "--drain-time-s",
    String(Math.floor(config.drainDuration ? durationMs(config.drainDuration) / 1000 : 0)),
    // Clients are asked to disconnect when the drain starts, instead of gradually.
    "--drain-strategy",
    "immediate",
    "--local-address-ip-version",
    ipFamilies(addresses) === "v6" ? "v6" : "v4",
    "--file-flush-interval-msec",
    String(config.fileFlushInterval ? durationMs(config.fileFlushInterval) : 1000),
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

/** Splits `warning,upstream:debug` into the default level and component levels. */
export function splitLogLevel(text: string): { level: string; components: string } {
  const parts = text.split(",").filter((part) => part !== "");
  return {
    level: parts.findLast((part) => !part.includes(":")) ?? "",
    components: parts.filter((part) => part.split(":").length === 2).join(","),
  };
}
