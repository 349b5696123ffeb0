import { findEnvoy, installEnvoy } from "@istiod/envoy-binary";
import type { StartProgress } from "./main.js";

/**
 * Finds an Envoy, or fetches one.
 *
 * @returns its path, or why there is none
 * @throws Error where ENVOY_PATH names something that cannot be executed
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
