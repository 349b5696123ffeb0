import type { ResourceSet } from "@istiod/resources";
import type { SubscribedNames } from "./subscribed-names.js";
import type { Selection } from "./wire/body-cache.js";

/**
 * Attributes responses to changes of the source. The server calls it at each stage of a push and copies the results
 * into its events; the protocol does not depend on them. All methods are synchronous and must not throw.
 */
export interface Attribution {
  /**
   * Announces a change of the source, before any stream is marked. `revision` is undefined for a change without a
   * number.
   */
  changed(revision: number | undefined): void;
  /** Starts the attribution of an admitted stream. */
  open(stream: AttributedStream): StreamAttribution;
}

/** The state of a stream that attribution reads. */
export interface AttributedStream {
  /**
   * The set of a type that the client was last sent or that the current pass sends; undefined if the client is not
   * subscribed.
   */
  sentSet(typeUrl: string): ResourceSet | undefined;
  /** The set that the source has for the client now; undefined if there is none or the source threw. */
  currentSet(typeUrl: string): ResourceSet | undefined;
}

/** The attribution of one stream. */
export interface StreamAttribution {
  /** The oldest revision whose push to the stream is not complete; undefined if there is none. */
  readonly pendingRevision: number | undefined;
  /** Reports whether the next change must mark a type even if the source does not name it. */
  expectsNextChange(typeUrl: string): boolean;
  /** A type was made due by the last announced change, or was already due. */
  marked(typeUrl: string): void;
  /** A type is no longer due, without a response. */
  unmarked(typeUrl: string): void;
  /**
   * The set of a due type is read for a response. Later changes belong to a later response.
   *
   * @param becauseOf the type whose last response made this type due, if no change did
   */
  read(typeUrl: string, becauseOf?: string): void;
  /** Attributes a response of the type that was read. */
  attribute(response: AttributedResponse): ShownChanges;
  /** A push starts. Returns the revisions that marked the stream since the last push, ascending. */
  pushStarted(): readonly number[];
  /** All due responses were sent. */
  pushFinished(): void;
  /** The stream ended. */
  close(): void;
}

/** A response before it is sent. */
export interface AttributedResponse {
  readonly typeUrl: string;
  readonly reason: "request" | "change";
  readonly selection: Selection;
  /** The set that the client was sent before; undefined if none. */
  readonly before: ResourceSet | undefined;
  readonly set: ResourceSet;
  readonly wildcard: boolean;
  readonly names: SubscribedNames;
}

/** The changes that a response shows. */
export interface ShownChanges {
  /** The revision of the source at the time the set was read, if the source has revisions. */
  readonly revision?: number;
  /** The revisions whose changes the response contains, ascending. */
  readonly changes: readonly number[];
}

const noChanges: ShownChanges = { changes: [] };

const noStreamAttribution: StreamAttribution = {
  pendingRevision: undefined,
  expectsNextChange: () => false,
  marked: () => undefined,
  unmarked: () => undefined,
  read: () => undefined,
  attribute: () => noChanges,
  pushStarted: () => [],
  pushFinished: () => undefined,
  close: () => undefined,
};

/** Attributes responses to no change. */
export const noAttribution: Attribution = { changed: () => undefined, open: () => noStreamAttribution };
