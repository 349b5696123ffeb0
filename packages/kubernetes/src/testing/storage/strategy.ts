import type { ServedType } from "../discovery/served-type.js";
import { resourceKey } from "./store.js";
import { type ApiObject, equalJson, isJsonObject, type JsonObject } from "./object.js";
import { newUid, type ServerState, type Target, timeOf, type UserInfo } from "./server-state.js";

const initialStatus: Readonly<Record<string, JsonObject>> = {
  "/pods": { phase: "Pending" },
  "/namespaces": { phase: "Active" },
  "/services": { loadBalancer: {} },
};

/** Removes what only the server sets. */
export function withoutSystemFields(object: ApiObject): ApiObject {
  const { uid: _uid, creationTimestamp: _created, deletionTimestamp: _deleted, ...metadata } = object.metadata;
  const { deletionGracePeriodSeconds: _grace, selfLink: _link, ...kept } = metadata;
  return { ...object, metadata: kept };
}

/** Returns a new object with the fields that the server sets at creation. */
export function prepareForCreate(state: ServerState, target: Target, sent: ApiObject, user: UserInfo): ApiObject {
  const { type, version } = target;
  const { resourceVersion: _, ...metadata } = sent.metadata;
  const object: ApiObject = {
    ...sent,
    metadata: {
      ...metadata,
      ...(target.namespace !== undefined && { namespace: target.namespace }),
      uid: metadata.uid ?? newUid(),
      creationTimestamp: metadata.creationTimestamp ?? timeOf(state),
    },
  };
  if (type.hasGeneration || type.isCustom) object.metadata.generation = 1;
  const key = resourceKey(type);
  if (version.hasStatus || key === "/namespaces") {
    delete object.status;
    const status = initialStatus[key];
    if (!type.isCustom) object.status = { ...status };
  }
  if (key === "/pods" && isJsonObject(object.spec)) preparePod(object, object.spec);
  if (key === "certificates.k8s.io/certificatesigningrequests" && isJsonObject(object.spec)) {
    object.spec = {
      ...object.spec,
      username: user.username,
      groups: [...user.groups],
      ...(user.uid !== undefined && { uid: user.uid }),
    };
  }
  return object;
}

function preparePod(object: ApiObject, spec: JsonObject): void {
  spec.serviceAccountName ??= "default";
  spec.serviceAccount = spec.serviceAccountName;
  object.status = { phase: "Pending", qosClass: qosClassOf(spec) };
}

/** Returns Guaranteed if limits equal requests for CPU and memory, BestEffort without either, or else Burstable. */
function qosClassOf({ containers }: JsonObject): string {
  const resources = Array.isArray(containers) ? containers.filter(isJsonObject).map((one) => one.resources) : [];
  const quantities = resources.flatMap((value) =>
    ["cpu", "memory"].map((name) => {
      const { requests, limits } = isJsonObject(value) ? value : {};
      const of = (list: unknown): unknown => (isJsonObject(list) ? list[name] : undefined);
      return { request: of(requests), limit: of(limits) };
    }),
  );
  if (quantities.every(({ request, limit }) => request === undefined && limit === undefined)) return "BestEffort";
  const isGuaranteed = quantities.every(({ request, limit }) => limit !== undefined && (request ?? limit) === limit);
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** Returns an update of `old` with only the changes that the endpoint of the target makes. */
export function prepareForUpdate({ type, version, subresource }: Target, old: ApiObject, next: ApiObject): ApiObject {
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation, resourceVersion } =
    old.metadata;
  const { managedFields } = next.metadata;
  if (subresource !== undefined) {
    const { status: _old, ...rest } = old;
    const { managedFields: _managed, ...metadata } = old.metadata;
    const kept = { ...metadata, ...(managedFields !== undefined && { managedFields }) };
    const updated: ApiObject = { ...rest, apiVersion: next.apiVersion, metadata: kept };
    if (next.status !== undefined) updated.status = next.status;
    if (subresource === "approval") updated.status = approvalStatus(old.status, next.status);
    return updated;
  }
  const { deletionTimestamp: _d, deletionGracePeriodSeconds: _g, generation: _gen, ...sent } = next.metadata;
  const updated: ApiObject = {
    ...next,
    metadata: {
      ...sent,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
      ...(generation !== undefined && { generation }),
    },
  };
  if (version.hasStatus) {
    delete updated.status;
    if (old.status !== undefined) updated.status = old.status;
  }
  if (
    (type.hasGeneration || type.isCustom) &&
    !equalJson(specOf(old, version.hasStatus), specOf(updated, version.hasStatus))
  ) {
    updated.metadata.generation = (generation ?? 0) + 1;
  }
  return updated;
}

/** Returns everything that counts for the generation: all but metadata, and all but the status where it is separate. */
function specOf(object: ApiObject, hasStatus: boolean): JsonObject {
  const { metadata: _, apiVersion: _version, ...content } = object;
  if (!hasStatus) return content;
  const { status: _status, ...spec } = content;
  return spec;
}

/** The approval endpoint changes conditions only. */
function approvalStatus(old: unknown, next: unknown): JsonObject {
  const status = isJsonObject(old) ? { ...old } : {};
  delete status.conditions;
  if (isJsonObject(next) && next.conditions !== undefined) status.conditions = next.conditions;
  return status;
}

/** Returns the grace period of a deletion in seconds: 0 where nothing waits for the node agent. */
export function gracePeriodOf(type: ServedType, object: ApiObject, requested: number | undefined): number {
  if (resourceKey(type) !== "/pods" || !isJsonObject(object.spec)) return 0;
  const phase = isJsonObject(object.status) ? object.status.phase : undefined;
  if (object.spec.nodeName === undefined || phase === "Succeeded" || phase === "Failed") return 0;
  const { terminationGracePeriodSeconds } = object.spec;
  return requested ?? (typeof terminationGracePeriodSeconds === "number" ? terminationGracePeriodSeconds : 30);
}
