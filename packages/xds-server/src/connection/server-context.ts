import type { Clock } from "../clock.js";
import type { XdsEvent } from "../events.js";
import type { PushQueue } from "../push/push-queue.js";
import type { ResourceSource } from "../source.js";
import type { BodyCache } from "../wire/body-cache.js";

/** What connections share. */
export interface ServerContext<C> {
  readonly source: ResourceSource<C>;
  readonly queue: PushQueue;
  readonly bodies: BodyCache;
  readonly clock: Clock;
  readonly maxOutstandingBytes: number;
  readonly observe: (event: XdsEvent) => void;
  /** Whether a stream may begin now. Rejects, or waits for a moment, if not. */
  readonly admit: () => Promise<void>;
  /** A number that no other stream of this process has. */
  readonly number: () => number;
  /** A text that no other process has. */
  readonly process: string;
  /** The source's number of its present state. */
  readonly revision: () => number | undefined;
}
