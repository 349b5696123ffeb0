import type { Attribution } from "../attribution.js";
import type { Clock, UnreadBytes } from "@istiod/runtime";
import type { XdsEvent } from "../events.js";
import type { PushQueue } from "../push/push-queue.js";
import type { StreamLimits } from "../limits/stream-limits.js";
import type { OnDemandHandler, ResourceSource } from "../source.js";
import type { DoubtMemory } from "../protocol/doubt-memory.js";
import type { BodyCache } from "../wire/body-cache.js";
import type { BodyCompressor } from "../wire/body-compressor.js";
import type { Call } from "../transport/call.js";
import type { Admission } from "./admission.js";
import type { ConnectionRegistry } from "./connection-registry.js";
import type { KnownRejections } from "../limits/known-rejections.js";
import type { TrialPool } from "../limits/trial-pool.js";
import type { SharedAllowance } from "../limits/shared-allowance.js";
import type { SliceQueue } from "./slice-queue.js";

/** Limits of streams of a class, and what they share. */
export interface StreamClass {
  readonly limits: Required<StreamLimits>;
  readonly allowance: SharedAllowance;
}

/** The state that all connections of a server share. */
export interface ServerContext<C> {
  readonly source: ResourceSource<C>;
  readonly connections: ConnectionRegistry<C>;
  /** Handlers of on-demand types, in the order in which they are asked. */
  readonly onDemand: OnDemandHandler[];
  /** Answers to requests of on-demand types. */
  readonly unreadAnswers: UnreadBytes;
  readonly queue: PushQueue;
  /** Long requests and responses, which are handled in slices. */
  readonly slices: SliceQueue;
  readonly bodies: BodyCache;
  readonly compressor: BodyCompressor;
  readonly attribution: Attribution;
  readonly clock: Clock;
  /** Resources that clients which reconnect may have or not. */
  readonly memory: DoubtMemory;
  /** Limits the responses that find invalid resources of rejected ones. */
  readonly trials: TrialPool;
  /** The versions of resources that clients have rejected. */
  readonly rejections: KnownRejections;
  /** Returns a number from 0 to less than 1. */
  readonly random: () => number;
  readonly isolatesRejections: boolean;
  readonly classes: Readonly<Record<"authenticated" | "unauthenticated", StreamClass>>;
  readonly maxOutstandingBytes: number;
  readonly observe: (event: XdsEvent) => void;
  /** Queues a new stream for admission. */
  readonly admit: (call: Call) => Admission;
  /** Returns a number that is unique among the streams of this process. */
  readonly nextStreamNumber: () => number;
  /** Prefix of nonces, unique to this process. */
  readonly processPrefix: string;
}
