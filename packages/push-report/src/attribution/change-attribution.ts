import type { Clock } from "@istiod/runtime";
import type { AttributedStream, Attribution, StreamAttribution } from "@istiod/xds-server";
import { type AnnouncedRevisions, StreamChanges } from "./stream-changes.js";

/** Time limit per change for comparing the sets of pending streams, in milliseconds. */
const maxCompareMs = 50;

/**
 * Attributes responses to the changes that they show, for an xDS server's `attribution` option.
 *
 * The server merges changes that wait for the same client into one response. To attribute the response to those of them
 * that it shows, call `beforeChange` before each change of the source: it compares the sets of the pending streams
 * while the source still has its previous state. Without these calls, a response is attributed to all changes since the
 * last one.
 */
export class ChangeAttribution implements Attribution {
  readonly #clock: Pick<Clock, "now">;
  readonly #revisions: AnnouncedRevisions = { announced: undefined, latest: undefined };
  /** Streams with a pending revision, by the order in which they became pending. */
  readonly #pending = new Set<StreamChanges>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Must be called before each change, while the source still returns its previous state. Takes at most 50 ms. */
  beforeChange(): void {
    const until = this.#clock.now() + maxCompareMs;
    for (const stream of this.#pending) {
      stream.compare();
      if (this.#clock.now() > until) break;
    }
  }

  /** The oldest revision whose push to some stream is not complete; undefined if there is none. */
  get pendingRevision(): number | undefined {
    let oldest: number | undefined;
    for (const { pendingRevision } of this.#pending) {
      if (pendingRevision !== undefined && (oldest === undefined || pendingRevision < oldest)) oldest = pendingRevision;
    }
    return oldest;
  }

  changed(revision: number | undefined): void {
    this.#revisions.announced = revision;
    this.#revisions.latest = revision ?? this.#revisions.latest;
  }

  open(stream: AttributedStream): StreamAttribution {
    return new StreamChanges(stream, this.#revisions, this.#pending, this.#clock);
  }
}
