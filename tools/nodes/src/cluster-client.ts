import { type ApiClient, createApiClient, readKubeconfig } from "@istiod/kubernetes";

/**
 * Returns a client of the cluster whose kubeconfig KUBECONFIG names.
 *
 * @param command names who needs it, in the error
 * @throws Error if KUBECONFIG is not set, or its file cannot be used
 */
export async function clusterClient(command: string): Promise<ApiClient> {
  const kubeconfig = process.env["KUBECONFIG"];
  if (!kubeconfig) throw new Error(`${command}: KUBECONFIG must name the cluster's kubeconfig`);
  return createApiClient(await readKubeconfig(kubeconfig), { qps: 1000, burst: 1000 });
}

/** @throws Error that names the flag, unless the text is a whole number from 1 to `most` */
export function wholeNumber(flag: string, text: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new Error(`${flag} is ${text}: must be a whole number between 1 and ${most}`);
  return value;
}
