import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, ApiError } from "@istiod/kubernetes";

const REMOVAL_MS = 120_000;
const INTERVAL_MS = 50;

/**
 * Deletes an object, unless it is gone, and waits until its name can be used again.
 *
 * @throws Error that names the object if it still exists after two minutes
 */
export async function removeObject(
  client: ApiClient,
  path: string,
  query: Readonly<Record<string, number>> = {},
): Promise<void> {
  await client.json({ method: "DELETE", path, query }).catch(ignoreMissing);
  const deadline = Date.now() + REMOVAL_MS;
  while (await client.json({ path }).then(() => true, ignoreMissing)) {
    if (Date.now() > deadline) throw new Error(`DELETE ${path}: the object still exists after ${REMOVAL_MS / 1000} s`);
    await sleep(INTERVAL_MS);
  }
}

/** @throws the error, unless it says that the object does not exist */
export function ignoreMissing(error: unknown): false {
  if (error instanceof ApiError && error.code === "not-found") return false;
  throw error;
}
