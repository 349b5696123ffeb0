import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ConfigDump, objectIn, optionalSection, section } from "../dump/config-dump.js";
import { ProxyConfigError } from "../errors.js";
import type { Table } from "../table.js";

/**
 * Returns the bootstrap of a proxy.
 *
 * @throws ProxyConfigError `missing-section`; dumps of a control plane do not have it
 */
export function bootstrapJson(dump: ConfigDump): JsonObject {
  const { "@type": _, ...json } = section(dump, "BootstrapConfigDump");
  if (json["bootstrap"] === undefined)
    throw new ProxyConfigError(
      "missing-section",
      "config dump: the bootstrap is empty; only the proxy's own dump has it",
    );
  return json;
}

/** Reports whether a dump has the bootstrap. */
export function hasBootstrap(dump: ConfigDump): boolean {
  return optionalSection(dump, "BootstrapConfigDump")?.["bootstrap"] !== undefined;
}

/** Returns the versions of Istio and Envoy in the bootstrap: rows of two cells, without a header. */
export function bootstrapTable(dump: ConfigDump): Table {
  const node = objectIn(objectIn(bootstrapJson(dump), "bootstrap"), "node");
  const metadata = objectIn(node, "metadata");
  const sha = text(metadata?.["ISTIO_PROXY_SHA"]);
  const lines = [
    ["Istio Version:", text(metadata?.["ISTIO_VERSION"])],
    ["Istio Proxy Version:", sha.split(":")[1] ?? sha],
    ["Envoy Version:", envoyVersion(objectIn(node, "userAgentBuildVersion"))],
  ];
  return lines.filter(([, value]) => value !== "");
}

function envoyVersion(build: JsonObject | undefined): string {
  const version = objectIn(build, "version");
  const metadata = objectIn(build, "metadata");
  const number = ["majorNumber", "minorNumber", "patch"].map((part) => text(version?.[part]) || "0").join(".");
  const label = text(metadata?.["build.label"]);
  const details = ["revision.status", "build.type", "ssl.version"]
    .map((key) => text(metadata?.[key]))
    .filter((value) => value !== "");
  return [label === "" ? number : `${number}-${label}`, ...details].join("/");
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
