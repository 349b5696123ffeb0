import type { Exchange } from "../http/exchange.js";
import { badRequest, invalid, methodNotAllowed, notFound } from "../http/status-error.js";
import { userOf } from "../http/write-options.js";
import { formatTime, isJsonObject, type JsonObject } from "../storage/object.js";
import type { ServerState } from "../storage/server-state.js";
import type { AccessControl } from "./access-control.js";
import { identityOf } from "./authenticator.js";
import type { Access } from "./rbac.js";
import { type ServiceAccountTokens, tokenIssuer } from "./service-account-tokens.js";

export interface ReviewRoutes {
  readonly state: ServerState;
  readonly access: AccessControl;
  readonly serviceAccountTokens: ServiceAccountTokens;
}

type Review = (routes: ReviewRoutes, spec: JsonObject, exchange: Exchange) => JsonObject;

const reviews: Readonly<Record<string, readonly [kind: string, review: Review]>> = {
  "authentication.k8s.io/tokenreviews": ["TokenReview", reviewToken],
  "authentication.k8s.io/selfsubjectreviews": [
    "SelfSubjectReview",
    (_, _spec, exchange) => ({ userInfo: userOf(exchange) }),
  ],
  "authorization.k8s.io/subjectaccessreviews": ["SubjectAccessReview", reviewSubjectAccess],
  "authorization.k8s.io/localsubjectaccessreviews": ["LocalSubjectAccessReview", reviewSubjectAccess],
  "authorization.k8s.io/selfsubjectaccessreviews": [
    "SelfSubjectAccessReview",
    ({ access }, spec, exchange) => decisionOf(access.decide(userOf(exchange), accessOfSpec(spec))),
  ],
};

/** Answers reviews and token requests. Returns false for other paths. */
export async function serveReviews(routes: ReviewRoutes, exchange: Exchange): Promise<boolean> {
  const { target } = exchange;
  if (!target.isResource || target.version !== "v1") return false;
  if (target.group === "" && target.plural === "serviceaccounts" && target.subresource === "token") {
    await serveTokenRequest(routes, exchange, target.namespace ?? "", target.name ?? "");
    return true;
  }
  const [kind, review] = reviews[`${target.group}/${target.plural}`] ?? [];
  if (kind === undefined || review === undefined) return false;
  if (exchange.method !== "POST") throw methodNotAllowed();
  const body = await readReview(exchange, kind);
  const apiVersion = `${target.group}/v1`;
  const spec = isJsonObject(body.spec) ? body.spec : {};
  const status = review(routes, spec, exchange);
  await exchange.send(201, { ...body, kind, apiVersion, metadata: body.metadata ?? {}, spec, status });
  return true;
}

async function readReview(exchange: Exchange, kind: string): Promise<JsonObject> {
  const body = await exchange.json();
  if (!isJsonObject(body)) throw badRequest(`the ${kind} is not an object`);
  if (body.kind !== undefined && body.kind !== kind) {
    throw badRequest(`${String(body.kind)} cannot be handled as a ${kind}`);
  }
  return body;
}

const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? (value as string[]) : []);

function reviewToken({ access }: ReviewRoutes, { token, audiences }: JsonObject): JsonObject {
  if (typeof token !== "string" || token === "") {
    throw badRequest("token is required for TokenReview in authentication");
  }
  const wanted = stringsIn(audiences);
  const verified = access.verify(token, wanted.length === 0 ? [tokenIssuer] : wanted);
  if (verified === undefined) return { user: {}, error: "invalid bearer token" };
  return { authenticated: true, user: verified.user, audiences: verified.audiences };
}

function reviewSubjectAccess({ access }: ReviewRoutes, spec: JsonObject): JsonObject {
  const { user = "", groups, uid } = spec;
  if (user === "" && stringsIn(groups).length === 0) {
    throw invalid("SubjectAccessReview", "authorization.k8s.io", "", [
      {
        field: "spec.user",
        reason: "FieldValueInvalid",
        message: `Invalid value: "": at least one of user or group must be specified`,
      },
    ]);
  }
  // The review names all groups of the user: none is added.
  const identity = { ...identityOf({ username: String(user) }), groups: stringsIn(groups) };
  const subject = uid === undefined ? identity : { ...identity, uid: String(uid) };
  return decisionOf(access.decide(subject, accessOfSpec(spec)));
}

const decisionOf = ({ allowed, reason }: { readonly allowed: boolean; readonly reason: string }): JsonObject => ({
  allowed,
  ...(reason !== "" && { reason }),
});

function accessOfSpec({ resourceAttributes, nonResourceAttributes }: JsonObject): Access {
  if (isJsonObject(nonResourceAttributes)) {
    return { verb: String(nonResourceAttributes.verb ?? ""), path: String(nonResourceAttributes.path ?? "") };
  }
  if (!isJsonObject(resourceAttributes)) {
    throw badRequest("exactly one of nonResourceAttributes or resourceAttributes must be specified");
  }
  const text = (name: string): string => String(resourceAttributes[name] ?? "");
  const subresource = text("subresource");
  return {
    verb: text("verb"),
    group: text("group"),
    resource: text("resource"),
    namespace: text("namespace"),
    name: text("name"),
    ...(subresource !== "" && { subresource }),
  };
}

async function serveTokenRequest(
  { state, serviceAccountTokens }: ReviewRoutes,
  exchange: Exchange,
  namespace: string,
  name: string,
): Promise<void> {
  if (exchange.method !== "POST") throw methodNotAllowed();
  const body = await readReview(exchange, "TokenRequest");
  const spec = isJsonObject(body.spec) ? body.spec : {};
  const account = state.store.get("/serviceaccounts", `${namespace}/${name}`);
  if (account === undefined) throw notFound({ group: "", plural: "serviceaccounts" }, name);
  const { expirationSeconds = 3600, audiences } = spec;
  if (typeof expirationSeconds !== "number" || expirationSeconds < 600) {
    throw invalid("TokenRequest", "authentication.k8s.io", "", [
      {
        field: "spec.expirationSeconds",
        reason: "FieldValueInvalid",
        message: `Invalid value: ${JSON.stringify(expirationSeconds)}: may not specify a duration less than 10 minutes`,
      },
    ]);
  }
  const wanted = stringsIn(audiences).length === 0 ? [tokenIssuer] : stringsIn(audiences);
  const pod = boundPod(state, namespace, spec.boundObjectRef);
  const subject = { namespace, name, uid: account.metadata.uid ?? "", ...(pod !== undefined && { pod }) };
  const token = serviceAccountTokens.sign(subject, wanted, expirationSeconds);
  const expirationTimestamp = formatTime(state.clock.now() + expirationSeconds * 1000);
  await exchange.send(201, {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, creationTimestamp: formatTime(state.clock.now()) },
    spec: { ...spec, audiences: wanted, expirationSeconds },
    status: { token, expirationTimestamp },
  });
}

function boundPod({ store }: ServerState, namespace: string, reference: unknown) {
  if (!isJsonObject(reference)) return undefined;
  if (reference.kind !== "Pod") throw badRequest(`tokens cannot be bound to a ${String(reference.kind)} here`);
  const name = String(reference.name);
  const pod = store.get("/pods", `${namespace}/${name}`);
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name);
  return { name, uid: pod.metadata.uid ?? "" };
}
