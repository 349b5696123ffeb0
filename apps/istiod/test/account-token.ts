import { createApiClient, parseKubeconfig, requestToken } from "@istiod/kubernetes";
import type { ApiServer } from "@istiod/kubernetes/testing";

export interface AccountTokenOptions {
  readonly namespace: string;
  /** Name of the service account. */
  readonly name: string;
  /** Default: istiod's. */
  readonly audience?: string;
}

/** Returns a token of a service account, which is created unless it exists. */
export async function accountToken(
  server: ApiServer,
  { namespace, name, audience = "istio-ca" }: AccountTokenOptions,
): Promise<string> {
  await server.objects.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } });
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml));
  try {
    const { token } = await requestToken(client, { namespace, name }, { audiences: [audience] });
    return token;
  } finally {
    client.close();
  }
}
