import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Installation } from "./reference-injection.js";

const chart = new URL("../../../../manifests/charts/istiod/", import.meta.url);
const folder = new URL("files/injection-templates/", chart);

/** Returns the values and templates of the chart `istiod` of this repository. */
export function chartInstallation(): Installation {
  const values = parse(readFileSync(new URL("values.yaml", chart), "utf8")) as Readonly<Record<string, object>>;
  return {
    values: values["_internal_defaults_do_not_set"] as Installation["values"],
    templates: Object.fromEntries(
      readdirSync(folder).map((file) => [
        file.replace(/\.yaml$/, ""),
        readFileSync(new URL(file, folder), "utf8").trim(),
      ]),
    ),
  };
}
