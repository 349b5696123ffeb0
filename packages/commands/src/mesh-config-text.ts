import { applyMeshConfig, formatPath, parseYaml } from "@istiod/config-schema";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";

/**
 * Returns a mesh configuration with Istio's defaults.
 *
 * @param name place of the text, for errors
 * @throws Error with all faults, each with its line and field
 */
export function readMeshConfig(name: string, text: string, warn: (text: string) => void): MeshConfig {
  const parsed = parseYaml({ text, line: 1 }, { allowsDuplicateKeys: true });
  if ("message" in parsed) throw new Error(`${name}:${parsed.line}: ${parsed.message}`);
  const faults: string[] = [];
  const place = (path: readonly (string | number)[], message: string): string =>
    `${name}:${parsed.lineOf(path)}: ${formatPath(path)} ${message}`;
  const config = applyMeshConfig(parsed.value, {
    error: (path, message) => faults.push(place(path, message)),
    warning: (path, message) => warn(`Warning: ${place(path, message)}\n`),
    wordAt: parsed.wordAt,
  });
  if (config === undefined) throw new Error(faults.join("\n"));
  return config;
}
