import { randomUUID } from "node:crypto";
import type { Clock } from "@istiod/runtime";
import type { TypeInVersion } from "../discovery/served-type.js";
import type { TypeRegistry } from "../discovery/type-registry.js";
import { type ApiObject, formatTime } from "./object.js";
import type { ServiceAllocator } from "./service-allocator.js";
import type { Store } from "./store.js";

/** Authenticated identity. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The collection or object that a request names. */
export interface Target extends TypeInVersion {
  /** Undefined for cluster-scoped types, and for collections of all namespaces. */
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Options of a write, from the query and the request's headers. */
export interface WriteOptions {
  readonly user: UserInfo;
  readonly fieldManager: string;
  readonly dryRun: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** Adds a header `Warning` to the answer. */
  readonly warn: (message: string) => void;
}

/** A write that admission decides about. */
export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly target: Target;
  readonly object: ApiObject | null;
  readonly oldObject: ApiObject | null;
  readonly options: WriteOptions;
}

export interface Admission {
  /** Returns the object after all mutating webhooks. */
  mutate(request: AdmissionRequest): Promise<ApiObject | null>;
  /** Fails if a validating webhook rejects the write. */
  validate(request: AdmissionRequest): Promise<void>;
}

/** The parts that every operation of a server shares. */
export interface ServerState {
  readonly store: Store;
  readonly types: TypeRegistry;
  readonly clock: Clock;
  readonly admission: Admission;
  readonly services: ServiceAllocator;
  /** Validates the content of built-in types, in addition to metadata. */
  readonly validation: boolean;
  /** Rejects objects with rules that this server does not evaluate. */
  readonly rejectsUnevaluated: boolean;
}

/** Returns the time of a server as the API writes it. */
export const timeOf = ({ clock }: Pick<ServerState, "clock">): string => formatTime(clock.now());

export const newUid = (): string => randomUUID();
