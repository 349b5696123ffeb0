import { findEnvoy, installEnvoy } from "@istiod/envoy-binary";
import type { StartProgress } from "./progress.js";

/**
 * Finds an Envoy, or downloads one.
 *
 * @returns its path, or the reason why there is none
 * @throws Error if ENVOY_PATH names a file that cannot be executed
 */
export async function obtainEnvoy(startProgress: StartProgress): Promise<{ path: string } | { reason: string }> {
  const found = await findEnvoy();
  if (found) return { path: found };
  const progress = startProgress("fetching Envoy (about 40 MB, once) … ");
  try {
    return { path: await installEnvoy({ report: (text) => progress.detail(text) }) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  } finally {
    progress.stop();
  }
}
