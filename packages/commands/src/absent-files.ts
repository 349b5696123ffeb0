import { readOptionalFile } from "@istiod/config-ingestion";
import { readSettings } from "@istiod/settings";
import { meshFlags } from "./mesh-flags.js";

/** Flags that name files that may be absent, with the configuration that is used then. */
const optionalFiles = {
  meshConfig: "the defaults",
  afterMeshConfig: "the defaults",
  networksConfig: "no networks",
} as const;

/**
 * Returns a sentence for each file of mesh configuration or networks that a flag names and that does not exist. The
 * default paths may be absent without one.
 *
 * @param until The end of the sentence, such as ` until it exists` where the files are watched.
 */
export async function absentFiles(
  values: { readonly [F in keyof typeof optionalFiles]?: string },
  until = "",
): Promise<readonly string[]> {
  const defaults = new Map<string, unknown>(Object.entries(readSettings(meshFlags, {})));
  const sentences = (Object.keys(optionalFiles) as (keyof typeof optionalFiles)[]).map(async (flag) => {
    const file = values[flag] ?? "";
    if (file === "" || file === defaults.get(flag) || (await readOptionalFile(file)) !== undefined) return [];
    return [`--${flag} ${file}: no such file, using ${optionalFiles[flag]}${until}`];
  });
  return (await Promise.all(sentences)).flat();
}
