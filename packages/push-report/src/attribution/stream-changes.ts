import type { Clock } from "@istiod/runtime";
import type { AttributedResponse, AttributedStream, ShownChanges, StreamAttribution } from "@istiod/xds-server";
import { PendingChanges } from "./pending-changes.js";
import { UnrequestedResources } from "./unrequested-resources.js";

/** The revisions that the source has announced. */
export interface AnnouncedRevisions {
  /** Revision of the change that is being announced; undefined if it has none. */
  announced: number | undefined;
  /** The last revision. */
  latest: number | undefined;
}

/** Revisions remembered for a stream that is not pushed to; the oldest are forgotten first. */
const maxRevisions = 256;

/** The attribution state of one type on a stream. */
class TypeChanges {
  /** Changes since the type's set was last read. */
  waiting: PendingChanges | undefined;
  /** Changes and revision of the set that was last read. */
  read: { readonly changes: PendingChanges; readonly revision: number | undefined } | undefined;
  /** Changes that the last response was attributed to. */
  shown: readonly number[] = [];
  readonly unrequested = new UnrequestedResources();
}

/** Attributes the responses of one stream. */
export class StreamChanges implements StreamAttribution {
  readonly #stream: AttributedStream;
  readonly #revisions: Readonly<AnnouncedRevisions>;
  readonly #pending: Set<StreamChanges>;
  readonly #clock: Pick<Clock, "now">;
  readonly #types = new Map<string, TypeChanges>();
  /** Revisions that marked the stream since its last push. */
  #queued: number[] = [];
  #pendingRevision: number | undefined;

  /** @param pending the streams with a pending revision, which this stream joins and leaves */
  constructor(
    stream: AttributedStream,
    revisions: Readonly<AnnouncedRevisions>,
    pending: Set<StreamChanges>,
    clock: Pick<Clock, "now">,
  ) {
    this.#stream = stream;
    this.#revisions = revisions;
    this.#pending = pending;
    this.#clock = clock;
  }

  get pendingRevision(): number | undefined {
    return this.#pendingRevision;
  }

  /** Attributes the differences that the source has for the stream to the changes announced until now. */
  compare(): void {
    for (const [typeUrl, { waiting }] of this.#types) {
      if (waiting?.hasNew !== true) continue;
      const sent = this.#stream.sentSet(typeUrl);
      const current = sent && this.#stream.currentSet(typeUrl);
      if (sent !== undefined && current !== undefined) waiting.compare(sent, current);
    }
  }

  expectsNextChange(typeUrl: string): boolean {
    return this.#types.get(typeUrl)?.waiting?.hasNew === true;
  }

  marked(typeUrl: string): void {
    const { announced } = this.#revisions;
    if (announced === undefined) return;
    (this.#type(typeUrl).waiting ??= new PendingChanges()).add(announced);
    this.#pendingRevision ??= announced;
    this.#pending.add(this);
    if (this.#queued.at(-1) === announced) return;
    this.#queued.push(announced);
    if (this.#queued.length > maxRevisions) this.#queued.shift();
  }

  unmarked(typeUrl: string): void {
    const type = this.#types.get(typeUrl);
    if (type !== undefined) type.waiting = undefined;
  }

  read(typeUrl: string, becauseOf?: string): void {
    const type = this.#type(typeUrl);
    const inherited = becauseOf === undefined ? [] : this.#type(becauseOf).shown;
    type.read = { changes: type.waiting ?? new PendingChanges(inherited), revision: this.#revisions.latest };
    type.waiting = undefined;
  }

  attribute(response: AttributedResponse): ShownChanges {
    const type = this.#type(response.typeUrl);
    if (type.read === undefined) return { changes: [] };
    const { changes, revision } = type.read;
    type.read = undefined;
    type.shown = shownBy(response, changes, type.unrequested, this.#clock.now());
    return { ...(revision !== undefined && { revision }), changes: type.shown };
  }

  pushStarted(): readonly number[] {
    const changes = this.#queued;
    this.#queued = [];
    return changes;
  }

  pushFinished(): void {
    this.#pendingRevision = undefined;
    this.#pending.delete(this);
  }

  close(): void {
    this.pushFinished();
  }

  #type(typeUrl: string): TypeChanges {
    let type = this.#types.get(typeUrl);
    if (type === undefined) this.#types.set(typeUrl, (type = new TypeChanges()));
    return type;
  }
}

/**
 * Returns the pending changes that a response shows, and earlier changes that added resources that the client requests
 * only now.
 */
function shownBy(
  { selection, before, set, reason, wildcard, names }: AttributedResponse,
  changes: PendingChanges,
  unrequested: UnrequestedResources,
  now: number,
): readonly number[] {
  const shown = changes.shownBy(selection, before, set, reason);
  const earlier = unrequested.requestedBy(selection, now);
  if (before !== undefined && before !== set && !wildcard) {
    unrequested.add(changes.split(before, set), (name) => names.has(name) || before.has(name), now);
  }
  return earlier.length === 0 ? shown : [...new Set([...earlier, ...shown])].sort((a, b) => a - b);
}
