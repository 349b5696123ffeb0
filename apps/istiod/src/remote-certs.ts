import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { kubernetesSecrets, readPluggedInCa } from "@istiod/ca";
import type { ApiClient } from "@istiod/kubernetes";
import type { Logger } from "pino";

/** Name of the Secret with a plugged-in CA. */
const pluggedInSecret = "cacerts";

/**
 * Saves the Secret `cacerts` of the cluster in a directory, unless that has a CA already (`USE_REMOTE_CERTS`, for an
 * istiod outside of the cluster). As in Istio, later changes of the Secret are not followed, but those of the directory
 * are. Source: pilot/pkg/bootstrap/istio_ca.go.
 *
 * @throws Error if the Secret cannot be read or saved
 */
export async function saveRemoteCerts(
  directory: string,
  { client, namespace, log }: { readonly client: ApiClient; readonly namespace: string; readonly log: Logger },
): Promise<void> {
  // An incomplete directory is completed by the Secret, or else rejected later.
  const existing = await readPluggedInCa(directory, Date.now()).catch(() => undefined);
  if (existing !== undefined) return;
  const secret = await kubernetesSecrets(client, namespace).read(pluggedInSecret);
  if (secret === undefined) {
    log.warn(`USE_REMOTE_CERTS: Secret ${namespace}/${pluggedInSecret} does not exist`);
    return;
  }
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const [name, content] of Object.entries(secret.data)) {
      const file = join(directory, name);
      await writeFile(`${file}.tmp`, content, { mode: 0o600 });
      await rename(`${file}.tmp`, file);
    }
  } catch (cause) {
    const message = `USE_REMOTE_CERTS: Secret ${namespace}/${pluggedInSecret} cannot be saved in ${directory}`;
    throw new Error(`${message}: ${(cause as Error).message}`, { cause });
  }
  log.info({ directory }, `Secret ${namespace}/${pluggedInSecret} saved`);
}
