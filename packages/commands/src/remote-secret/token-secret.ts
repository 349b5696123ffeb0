import {
  ApiError,
  type ApiClient,
  createObject,
  type KubernetesObject,
  readObject,
  type ResourceType,
  resourcePath,
} from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";

const secrets: ResourceType = { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };
const tokenType = "kubernetes.io/service-account-token";
const accountAnnotation = "kubernetes.io/service-account.name";

/** Number of times that a Secret without a token is read again, and milliseconds between. */
const retries = 5;
const retryIntervalMs = 1000;

interface Secret extends KubernetesObject {
  readonly type?: string;
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface TokenSecretOptions {
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Name of the Secret to use. Empty: the first one of the service account, which is created if there is none. */
  readonly secretName: string;
  readonly needsToken: boolean;
  readonly clock: Clock;
}

/** Credentials of a service account. */
export interface AccountCredentials {
  /** Certificates of the API server's authority, in base64. */
  readonly certificateAuthority: string;
  /** Empty if it is not needed. */
  readonly token: string;
}

/**
 * Returns the credentials of a service account, after Kubernetes has written them to its Secret.
 *
 * @throws Error if the Secret is of another account, or has no credentials after five seconds
 */
export async function readCredentials(client: ApiClient, options: TokenSecretOptions): Promise<AccountCredentials> {
  let secret = await tokenSecret(client, options);
  const needed = ["ca.crt", ...(options.needsToken ? ["token"] : [])];
  for (let attempt = 0; ; attempt++) {
    const missing = needed.find((key) => !secret.data?.[key]);
    const name = secret.metadata?.name ?? "";
    if (missing === undefined) break;
    if (attempt === retries)
      throw new Error(
        `Secret ${options.namespace}/${name}: no ${JSON.stringify(missing)} data found: Kubernetes has not written the credentials of the service account`,
      );
    await new Promise<void>((resolve) => void options.clock.after(retryIntervalMs, resolve));
    secret = await readObject<Secret>(client, secrets, { namespace: options.namespace, name });
  }
  const token = options.needsToken ? Buffer.from(secret.data?.["token"] ?? "", "base64").toString("utf8") : "";
  return { certificateAuthority: secret.data?.["ca.crt"] ?? "", token };
}

async function tokenSecret(
  client: ApiClient,
  { namespace, serviceAccount, secretName }: TokenSecretOptions,
): Promise<Secret> {
  const isOfAccount = ({ type, metadata }: Secret): boolean =>
    type === tokenType && metadata?.annotations?.[accountAnnotation] === serviceAccount;
  if (secretName !== "") {
    const secret = await readObject<Secret>(client, secrets, { namespace, name: secretName }).catch(
      (error: unknown) => {
        if (error instanceof ApiError && error.code === "not-found")
          throw new Error(`--secret-name: Secret ${namespace}/${secretName} does not exist`, { cause: error });
        throw error;
      },
    );
    if (!isOfAccount(secret))
      throw new Error(
        `--secret-name: Secret ${namespace}/${secretName} is not a token of ServiceAccount ${serviceAccount}: expected the type ${tokenType} and the annotation ${accountAnnotation}`,
      );
    return secret;
  }
  const { items = [] } = await client.json<{ readonly items?: readonly Secret[] }>({
    path: resourcePath(secrets, { namespace }),
    query: { fieldSelector: `type=${tokenType}` },
  });
  const byName = (a: Secret, b: Secret): number => ((a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1);
  const [found] = items.filter(isOfAccount).sort(byName);
  if (found !== undefined) return found;
  const metadata = {
    name: `${serviceAccount}-istio-remote-secret-token`,
    namespace,
    annotations: { [accountAnnotation]: serviceAccount },
  };
  return createObject<Secret>(client, secrets, { metadata, type: tokenType });
}
