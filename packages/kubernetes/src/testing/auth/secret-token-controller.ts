import { type ApiObject, isJsonObject } from "../storage/object.js";
import type { ServerState } from "../storage/server-state.js";
import { objectKey, type StoredChange } from "../storage/store.js";
import { accountAnnotation, serviceAccountTokenType } from "../storage/validation.js";
import type { ServiceAccountTokens } from "./service-account-tokens.js";

const uidAnnotation = "kubernetes.io/service-account.uid";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

export interface SecretTokenOptions {
  readonly tokens: ServiceAccountTokens;
  /** Certificates of the server, in PEM. */
  readonly certificateAuthority: string;
}

/**
 * Fills Secrets of the type service-account-token, and deletes them with their service account, as the token controller
 * does. Returns a function that stops it.
 */
export function startSecretTokenController(state: ServerState, options: SecretTokenOptions): () => void {
  let pending: NodeJS.Immediate | undefined;
  const synchronize = (): void => {
    pending = undefined;
    for (const secret of state.store.values("/secrets"))
      if (secret.type === serviceAccountTokenType) synchronizeSecret(state, secret, options);
  };
  const stop = state.store.subscribeAll(({ resource, object, isDeleted }: StoredChange) => {
    const isToken = resource === "/secrets" && object.type === serviceAccountTokenType && !isDeleted;
    if (isToken || (resource === "/serviceaccounts" && isDeleted)) pending ??= setImmediate(synchronize);
  });
  return () => {
    stop();
    clearImmediate(pending);
  };
}

function synchronizeSecret({ store }: ServerState, secret: ApiObject, options: SecretTokenOptions): void {
  const { name: secretName = "", namespace = "", annotations = {} } = secret.metadata;
  const key = objectKey(namespace, secretName);
  const name = annotations[accountAnnotation] ?? "";
  const uid = store.get("/serviceaccounts", objectKey(namespace, name))?.metadata.uid;
  if (uid === undefined || (annotations[uidAnnotation] ?? uid) !== uid) {
    store.remove("/secrets", key);
    return;
  }
  const data = isJsonObject(secret.data) ? secret.data : {};
  const certificates = base64(options.certificateAuthority);
  if (annotations[uidAnnotation] === uid && data.token !== undefined && data["ca.crt"] === certificates) return;
  const token = data.token ?? base64(options.tokens.signForSecret(secretName, { namespace, name, uid }));
  store.put("/secrets", key, {
    ...secret,
    metadata: { ...secret.metadata, annotations: { ...annotations, [uidAnnotation]: uid } },
    data: { namespace: base64(namespace), ...data, token, "ca.crt": certificates },
  });
}
