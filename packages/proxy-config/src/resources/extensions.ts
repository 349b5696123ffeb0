import type { JsonObject } from "@bufbuild/protobuf";
import { compare } from "./cluster-name.js";
import { type ConfigDump, objectIn, objectsIn, section } from "../dump/config-dump.js";
import { typeName } from "../dump/registry.js";
import type { Table } from "../table.js";

/** Returns the extension configurations (ECDS) of a dump. */
export function extensionsJson(dump: ConfigDump): JsonObject {
  const { "@type": _, ...json } = section(dump, "EcdsConfigDump");
  return json;
}

/** Summarizes extension configurations, sorted by type and name. */
export function extensionTable(dump: ConfigDump): Table {
  const found = objectsIn(section(dump, "EcdsConfigDump"), "ecdsFilters").map((entry) => {
    const filter = objectIn(entry, "ecdsFilter");
    return [String(filter?.["name"] ?? ""), typeName(String(objectIn(filter, "typedConfig")?.["@type"] ?? ""))];
  });
  return [["ECDS NAME", "TYPE"], ...found.sort(([a = "", x = ""], [b = "", y = ""]) => compare(x, y) || compare(a, b))];
}
