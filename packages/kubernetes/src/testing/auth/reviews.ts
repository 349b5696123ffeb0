import type { Exchange } from "../http/exchange.js";
import { badRequest, type FieldError, invalid, methodNotAllowed } from "../http/status-error.js";
import { userOf } from "../http/write-options.js";
import { isJsonObject, type JsonObject } from "../storage/object.js";
import type { ServerState } from "../storage/server-state.js";
import type { AccessControl } from "./access-control.js";
import { identityOf } from "./authenticator.js";
import type { Access } from "./rbac.js";
import { type ServiceAccountTokens, tokenIssuer } from "./service-account-tokens.js";
import { readReview, serveTokenRequest } from "./token-requests.js";

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
  "authorization.k8s.io/localsubjectaccessreviews": ["LocalSubjectAccessReview", reviewLocalSubjectAccess],
  "authorization.k8s.io/selfsubjectaccessreviews": [
    "SelfSubjectAccessReview",
    ({ access }, spec, exchange) => {
      validateAccess(spec, userOf(exchange).username);
      return decisionOf(access.decide(userOf(exchange), accessOfSpec(spec)));
    },
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
  validateAccess(spec, stringsIn(groups)[0] ?? String(user));
  // The review names all groups of the user: none is added.
  const identity = { ...identityOf({ username: String(user) }), groups: stringsIn(groups) };
  const subject = uid === undefined ? identity : { ...identity, uid: String(uid) };
  return decisionOf(access.decide(subject, accessOfSpec(spec)));
}

function reviewLocalSubjectAccess(routes: ReviewRoutes, spec: JsonObject, { target }: Exchange): JsonObject {
  const namespace = target.isResource ? (target.namespace ?? "") : "";
  const { resourceAttributes } = spec;
  if (!isJsonObject(resourceAttributes) || resourceAttributes.namespace !== namespace)
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
  return reviewSubjectAccess(routes, spec);
}

/**
 * @param subject User or group; empty if the review has neither.
 * @throws StatusError 422
 */
function validateAccess({ resourceAttributes, nonResourceAttributes }: JsonObject, subject: string): void {
  const errors: FieldError[] = [];
  const fail = (field: string, value: unknown, message: string): void =>
    void errors.push({
      field: `spec.${field}`,
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(value ?? null)}: ${message}`,
    });
  if (isJsonObject(resourceAttributes) && isJsonObject(nonResourceAttributes))
    fail("nonResourceAttributes", nonResourceAttributes, "cannot be specified in combination with resourceAttributes");
  if (!isJsonObject(resourceAttributes) && !isJsonObject(nonResourceAttributes))
    fail("resourceAttributes", null, "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  if (subject === "") fail("user", "", "at least one of user or group must be specified");
  if (errors.length > 0) throw invalid("SubjectAccessReview", "authorization.k8s.io", "", errors);
}

const decisionOf = ({ allowed, reason }: { readonly allowed: boolean; readonly reason: string }): JsonObject => ({
  allowed,
  ...(reason !== "" && { reason }),
});

function accessOfSpec({ resourceAttributes, nonResourceAttributes }: JsonObject): Access {
  if (isJsonObject(nonResourceAttributes)) {
    return { verb: String(nonResourceAttributes.verb ?? ""), path: String(nonResourceAttributes.path ?? "") };
  }
  const attributes = isJsonObject(resourceAttributes) ? resourceAttributes : {};
  const text = (name: string): string => String(attributes[name] ?? "");
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
