import type { Message } from "@istiod/analysis";
import type { ObjectStatus } from "@istiod/push-report";
import { isConnection, type ProxyConnection } from "../connected-proxies.js";
import { isRecord, ReplicaError } from "../replica.js";

/** A source of which a replica has not read the latest version of an object. */
export interface UnreadSource {
  readonly source: string;
  /** Set if the source could not be asked. */
  readonly error?: string;
  /** Name of the replica; absent in the answer of one. */
  readonly replica?: string;
}

/** A part of an object that listeners of connected proxies lack. */
export interface LackedPart {
  readonly field: string;
  readonly reason: string;
  /** Number of proxies. */
  readonly proxies: number;
  /** One of them. */
  readonly proxy: string;
}

/** A patch of an EnvoyFilter that is applied. */
export interface AppliedPatch {
  /** Index in `configPatches`. */
  readonly index: number;
  /** Number of resources with the patch, of all proxies. */
  readonly resources: number;
  /** Number of these proxies. */
  readonly proxies: number;
}

/** The status of an object, with what is known to be wrong with it. */
export interface AnnotatedStatus extends ObjectStatus {
  readonly findings: readonly Message[];
  readonly omitted: readonly LackedPart[];
  /** Patches of an EnvoyFilter that are applied to connected proxies. Absent for other kinds. */
  readonly patches?: readonly AppliedPatch[];
  /** Sources whose latest version of the object was not read, if the request asks for it. */
  readonly unread: readonly UnreadSource[];
}

/** The answer to the command `status`. */
export interface StatusAnswer {
  /** Revision of the configuration of the replica. */
  readonly revision: number;
  /** A change is being gathered that these objects do not show yet. */
  readonly gathering: boolean;
  readonly objects: readonly AnnotatedStatus[];
  /** Rejections and warnings of the sources: about the requested objects, or all. */
  readonly problems: readonly {
    readonly object: string;
    readonly severity: "error" | "warning";
    readonly text: string;
  }[];
  /** The most severe findings about other objects since the first analysis. Empty if objects are requested by name. */
  readonly newFindings: readonly Message[];
  /** Number of such findings that `newFindings` leaves out. */
  readonly moreFindings: number;
  /** Connected proxies, if the request asks for them. */
  readonly connections?: readonly ProxyConnection[];
}

const counts = ["connected", "settling", "reached", "live", "rejected"];
const lists = ["missing", "findings", "omitted", "unread"];

/** Decodes the answer to the command `status`. @throws ReplicaError `malformed` */
export function decodeStatus(answer: unknown): StatusAnswer {
  const isStatus = (value: unknown): boolean =>
    isRecord(value) &&
    isRecord(value["object"]) &&
    typeof value["found"] === "boolean" &&
    counts.every((field) => typeof value[field] === "number") &&
    lists.every((field) => Array.isArray(value[field]));
  const isAnswer =
    isRecord(answer) &&
    typeof answer["gathering"] === "boolean" &&
    typeof answer["moreFindings"] === "number" &&
    Array.isArray(answer["problems"]) &&
    Array.isArray(answer["newFindings"]) &&
    Array.isArray(answer["objects"]) &&
    answer["objects"].every(isStatus) &&
    (answer["connections"] === undefined ||
      (Array.isArray(answer["connections"]) && answer["connections"].every(isConnection)));
  if (!isAnswer) throw new ReplicaError("malformed", "its statuses have another form");
  return answer as unknown as StatusAnswer;
}
