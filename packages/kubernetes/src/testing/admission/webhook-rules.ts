import { apiVersionOf } from "../../resource-type.js";
import { matchesSelectorObject } from "../storage/selectors.js";
import { isJsonObject, type JsonObject } from "../storage/object.js";
import type { AdmissionRequest, ServerState } from "../storage/server-state.js";

/** A webhook of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration. */
export interface Webhook {
  readonly name: string;
  readonly clientConfig: JsonObject;
  readonly rules: readonly JsonObject[];
  readonly failurePolicy: string;
  readonly matchPolicy: string;
  readonly namespaceSelector: JsonObject;
  readonly objectSelector: JsonObject;
  readonly sideEffects: string;
  readonly timeoutSeconds: number;
  readonly hasConditions: boolean;
}

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Returns the webhooks of all configurations of a resource, in the order of their calls. */
export function webhooksOf({ store }: ServerState, plural: string): readonly Webhook[] {
  return store.list(`admissionregistration.k8s.io/${plural}`).items.flatMap(([, { webhooks }]) =>
    objectsIn(webhooks).map((webhook) => ({
      name: String(webhook.name),
      clientConfig: objectIn(webhook.clientConfig),
      rules: objectsIn(webhook.rules),
      failurePolicy: String(webhook.failurePolicy),
      matchPolicy: String(webhook.matchPolicy),
      namespaceSelector: objectIn(webhook.namespaceSelector),
      objectSelector: objectIn(webhook.objectSelector),
      sideEffects: String(webhook.sideEffects),
      timeoutSeconds: Number(webhook.timeoutSeconds),
      hasConditions: objectsIn(webhook.matchConditions).length > 0,
    })),
  );
}

/** Reports whether a webhook is called for a write. */
export function isCalled(state: ServerState, webhook: Webhook, request: AdmissionRequest): boolean {
  const { type } = request.target;
  // Otherwise a broken webhook could not be removed.
  if (type.group === "admissionregistration.k8s.io") return false;
  return (
    webhook.rules.some((rule) => matchesRule(rule, webhook.matchPolicy, request)) &&
    matchesNamespace(state, webhook, request) &&
    [request.object, request.oldObject].some(
      (object) => object !== null && matchesSelectorObject(webhook.objectSelector, object.metadata.labels ?? {}),
    )
  );
}

const includes = (value: unknown, ...wanted: readonly string[]): boolean =>
  Array.isArray(value) && wanted.some((item) => value.includes(item));

function matchesRule(rule: JsonObject, matchPolicy: string, { operation, target }: AdmissionRequest): boolean {
  const { type, version, subresource } = target;
  const versions = matchPolicy === "Exact" ? [version.name] : type.versions.map(({ name }) => name);
  const resources =
    subresource === undefined
      ? [type.plural, "*", "*/*"]
      : [`${type.plural}/${subresource}`, `${type.plural}/*`, `*/${subresource}`, "*/*"];
  const scope = type.namespaced ? "Namespaced" : "Cluster";
  return (
    includes(rule.operations, "*", operation) &&
    includes(rule.apiGroups, "*", type.group) &&
    includes(rule.apiVersions, "*", ...versions) &&
    includes(rule.resources, ...resources) &&
    (rule.scope === "*" || rule.scope === scope)
  );
}

function matchesNamespace({ store }: ServerState, webhook: Webhook, { target, object, oldObject }: AdmissionRequest) {
  const { type, namespace } = target;
  const isNamespace = type.group === "" && type.plural === "namespaces";
  if (namespace === undefined && !isNamespace) return true;
  const source = isNamespace ? (object ?? oldObject) : store.get("/namespaces", namespace ?? "");
  return matchesSelectorObject(webhook.namespaceSelector, source?.metadata.labels ?? {});
}

/** Returns the AdmissionReview that a webhook receives. */
export function admissionReview(uid: string, request: AdmissionRequest): JsonObject {
  const { operation, target, object, oldObject, options } = request;
  const { type, version, namespace, subresource } = target;
  const kind = { group: type.group, version: version.name, kind: type.kind };
  const resource = { group: type.group, version: version.name, resource: type.plural };
  const name = target.name ?? object?.metadata.name;
  const sub = subresource === undefined ? {} : { subResource: subresource, requestSubResource: subresource };
  const { username, uid: userUid, groups, extra } = options.user;
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid,
      kind,
      resource,
      ...sub,
      requestKind: kind,
      requestResource: resource,
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      operation,
      userInfo: {
        username,
        ...(userUid !== undefined && { uid: userUid }),
        groups,
        ...(extra !== undefined && { extra }),
      },
      object:
        object === null ? null : { ...object, apiVersion: apiVersionOf({ group: type.group, version: version.name }) },
      oldObject,
      dryRun: options.dryRun,
      options: {
        kind: `${operation[0] ?? ""}${operation.slice(1).toLowerCase()}Options`,
        apiVersion: "meta.k8s.io/v1",
      },
    },
  };
}
