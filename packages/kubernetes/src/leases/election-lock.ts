import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import { describeObject, type KubernetesObject, type ObjectName } from "../object.js";
import type { ResourceType } from "../resource-type.js";
import { createObject, readObject, updateObject } from "../writers/write-object.js";
import { decodeRecord, type ElectionRecord, type EncodedRecord, microTime } from "./election-record.js";

/** A stored record, with what is needed to replace exactly this version. */
export interface StoredRecord {
  readonly record: ElectionRecord;
  /** Differs after every change. */
  readonly version: string;
  readonly object: KubernetesObject;
}

/** The object that stores the state of an election. Its writes fail if another party has written in between. */
export interface ElectionLock {
  /** Names the object in messages. */
  readonly description: string;
  /** Returns undefined if the object does not exist. @throws ApiError */
  read(signal: AbortSignal): Promise<StoredRecord | undefined>;
  /** Creates the object. @throws ApiError, `already-exists` if another candidate was first */
  create(record: ElectionRecord, signal: AbortSignal): Promise<StoredRecord>;
  /** Replaces a record. @throws ApiError, `conflict` if `previous` is not stored any more */
  update(record: ElectionRecord, previous: StoredRecord, signal: AbortSignal): Promise<StoredRecord>;
}

export interface LeaseLockOptions {
  /** Annotation that stores the holder's key. Default: keys are not stored, and every key is read as empty. */
  readonly holderKeyAnnotation?: string;
}

/** Annotation of ConfigMaps in which client-go stores the record. */
const recordAnnotation = "control-plane.alpha.kubernetes.io/leader";

const leases: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};
const configMaps: ResourceType = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};

/** Encoding of a record in objects of one type. */
interface Storage {
  readonly type: ResourceType;
  decode(object: KubernetesObject, where: string): ElectionRecord;
  encode(record: ElectionRecord, object: KubernetesObject): KubernetesObject;
}

interface Lease extends KubernetesObject {
  readonly spec?: Omit<EncodedRecord, "holderKey" | "leaderTransitions"> & { readonly leaseTransitions?: number };
}

/** Returns a lock that is stored in a Lease. */
export function leaseLock(
  client: ApiClient,
  name: ObjectName,
  { holderKeyAnnotation }: LeaseLockOptions = {},
): ElectionLock {
  return objectLock(client, name, {
    type: leases,
    decode({ spec = {}, metadata }: Lease, where) {
      const { leaseTransitions, ...rest } = spec;
      const holderKey = holderKeyAnnotation === undefined ? undefined : metadata?.annotations?.[holderKeyAnnotation];
      return decodeRecord(
        {
          ...rest,
          ...(leaseTransitions !== undefined && { leaderTransitions: leaseTransitions }),
          ...(holderKey !== undefined && { holderKey }),
        },
        where,
      );
    },
    encode({ holderKey, leaderTransitions, acquireTime, renewTime, ...record }, object: Lease): Lease {
      const times = { acquireTime: microTime(acquireTime), renewTime: microTime(renewTime) };
      const encoded = { ...object, spec: { ...object.spec, ...record, ...times, leaseTransitions: leaderTransitions } };
      return holderKeyAnnotation === undefined
        ? encoded
        : annotated(encoded, holderKeyAnnotation, holderKey === "" ? undefined : holderKey);
    },
  });
}

/** Returns a lock that is stored in an annotation of a ConfigMap, as in client-go before it had Leases. */
export function configMapLock(client: ApiClient, name: ObjectName): ElectionLock {
  return objectLock(client, name, {
    type: configMaps,
    decode({ metadata }, where) {
      const text = metadata?.annotations?.[recordAnnotation];
      return decodeRecord(text === undefined ? {} : parse(text, where), where);
    },
    encode({ acquireTime, renewTime, ...record }, object) {
      const times = { acquireTime: microTime(acquireTime), renewTime: microTime(renewTime) };
      return annotated(object, recordAnnotation, JSON.stringify({ ...record, ...times }));
    },
  });
}

function objectLock(client: ApiClient, name: ObjectName, { type, decode, encode }: Storage): ElectionLock {
  const description = describeObject(type, name);
  const stored = (object: KubernetesObject): StoredRecord => {
    const version = object.metadata?.resourceVersion;
    if (version === undefined) throw new ApiError("malformed", `${description}: metadata.resourceVersion is missing`);
    return { record: decode(object, description), version, object };
  };
  return {
    description,
    async read(signal) {
      try {
        return stored(await readObject(client, type, name, signal));
      } catch (error) {
        if (error instanceof ApiError && error.code === "not-found") return undefined;
        throw error;
      }
    },
    async create(record, signal) {
      const object = encode(record, { metadata: { ...name } });
      return stored(await createObject(client, type, object, { signal }));
    },
    async update(record, previous, signal) {
      return stored(await updateObject(client, type, encode(record, previous.object), { signal }));
    },
  };
}

function annotated<T extends KubernetesObject>(object: T, key: string, value: string | undefined): T {
  const { [key]: _previous, ...others } = object.metadata?.annotations ?? {};
  const annotations = value === undefined ? others : { ...others, [key]: value };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function parse(text: string, where: string): EncodedRecord {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
    throw new Error("expected an object");
  } catch (error) {
    throw new ApiError("malformed", `${where}: annotation ${recordAnnotation} is not a record of an election`, {
      cause: error,
    });
  }
}
