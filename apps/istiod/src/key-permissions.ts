import { exposedKeys } from "@istiod/ca";
import type { Logger } from "pino";

/** Logs a warning for each private key file that others than its owner can access. Missing files are skipped. */
export async function warnOfExposedKeys(paths: readonly string[], log: Logger): Promise<void> {
  for (const { path, mode } of await exposedKeys(paths))
    log.warn({ file: path, mode }, `${path}: the private key can be accessed by others (mode ${mode}, expected 0600)`);
}
