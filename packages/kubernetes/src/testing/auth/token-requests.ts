import type { Exchange } from "../http/exchange.js";
import { badRequest, conflict, invalid, methodNotAllowed, notFound } from "../http/status-error.js";
import { type ApiObject, formatTime, isJsonObject, type JsonObject } from "../storage/object.js";
import type { ServerState } from "../storage/server-state.js";
import { type BoundObjects, type ServiceAccountTokens, tokenIssuer } from "./service-account-tokens.js";

/** Seconds. */
const [minLifetime, maxLifetime] = [600, 2 ** 32];

interface TokenRequestRoutes {
  readonly state: ServerState;
  readonly serviceAccountTokens: ServiceAccountTokens;
}

/** Reads the body of a review or of a token request. */
export async function readReview(exchange: Exchange, kind: string): Promise<JsonObject> {
  const body = await exchange.json();
  if (!isJsonObject(body)) throw badRequest(`the ${kind} is not an object`);
  if (body.kind !== undefined && body.kind !== kind) {
    throw badRequest(`${String(body.kind)} cannot be handled as a ${kind}`);
  }
  return body;
}

/** Answers a request for a token of a service account. */
export async function serveTokenRequest(
  { state, serviceAccountTokens }: TokenRequestRoutes,
  exchange: Exchange,
  namespace: string,
  name: string,
): Promise<void> {
  if (exchange.method !== "POST") throw methodNotAllowed();
  const body = await readReview(exchange, "TokenRequest");
  const spec = isJsonObject(body.spec) ? body.spec : {};
  const account = state.store.get("/serviceaccounts", `${namespace}/${name}`);
  if (account === undefined) throw notFound({ group: "", plural: "serviceaccounts" }, name);
  const lifetime = lifetimeOf(spec);
  const audiences = Array.isArray(spec.audiences) && spec.audiences.length > 0 ? spec.audiences : [tokenIssuer];
  const bound = boundObjects(state, account, spec.boundObjectRef);
  const subject = { namespace, name, uid: account.metadata.uid ?? "", bound };
  const { token, expires } = serviceAccountTokens.sign(subject, audiences.map(String), lifetime);
  await exchange.send(201, {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, creationTimestamp: formatTime(state.clock.now()) },
    spec: { ...spec, audiences, expirationSeconds: lifetime },
    status: { token, expirationTimestamp: formatTime(expires * 1000) },
  });
}

/** @throws StatusError 422 */
function lifetimeOf({ expirationSeconds = 3600 }: JsonObject): number {
  const isNumber = typeof expirationSeconds === "number";
  if (isNumber && expirationSeconds >= minLifetime && expirationSeconds <= maxLifetime) return expirationSeconds;
  const isLong = isNumber && expirationSeconds > maxLifetime;
  const rule = isLong ? "larger than 1<<32 seconds" : "less than 10 minutes";
  throw invalid("TokenRequest", "authentication.k8s.io", "", [
    {
      field: "spec.expirationSeconds",
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(expirationSeconds)}: may not specify a duration ${rule}`,
    },
  ]);
}

const boundTypes: Readonly<Record<string, string>> = { Pod: "/pods", Secret: "/secrets" };

/**
 * Returns the objects that a token is bound to: none, a Secret, or a Pod with its node.
 *
 * @throws StatusError 400, 404 and 409
 */
function boundObjects({ store }: ServerState, account: ApiObject, reference: unknown): BoundObjects {
  if (!isJsonObject(reference)) return {};
  const { apiVersion = "", kind = "", name, uid } = reference;
  const resource = apiVersion === "v1" ? boundTypes[String(kind)] : undefined;
  if (resource === undefined) {
    const [version = "", group = ""] = String(apiVersion).split("/").reverse();
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${String(kind)}`);
  }
  const found = store.get(resource, `${account.metadata.namespace ?? ""}/${String(name)}`);
  if (found === undefined) throw notFound({ group: "", plural: resource.slice(1) }, String(name));
  if (typeof uid === "string" && uid !== "" && uid !== found.metadata.uid) {
    const message = `the UID in the bound object reference (${uid}) does not match the UID in record`;
    const reason = `${message}. The object might have been deleted and then recreated`;
    throw conflict({ group: "", plural: String(kind) }, String(name), reason);
  }
  const bound = { name: String(name), uid: found.metadata.uid ?? "" };
  if (resource === "/secrets") return { secret: bound };
  const { serviceAccountName, nodeName } = isJsonObject(found.spec) ? found.spec : {};
  if (serviceAccountName !== account.metadata.name) {
    const own = JSON.stringify(account.metadata.name);
    throw badRequest(`cannot bind token for serviceaccount ${own} to pod running with different serviceaccount name.`);
  }
  if (typeof nodeName !== "string" || nodeName === "") return { pod: bound };
  const nodeUid = store.get("/nodes", nodeName)?.metadata.uid;
  return { pod: bound, node: { name: nodeName, ...(nodeUid !== undefined && { uid: nodeUid }) } };
}
