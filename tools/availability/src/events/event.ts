import type { Rig } from "../rig.js";

/** Settings of events. */
export interface EventSettings {
  /** Seconds for which faults last. */
  readonly faultSeconds: number;
}

/** Figures of an event besides those that are taken for all. */
export interface EventFigures {
  /** Seconds until another istiod wrote what the killed leader owed. */
  readonly leadershipSeconds?: number;
  /** Istiods that were killed. Each may leave one call of a webhook without an answer. */
  readonly kills?: number;
}

/** Something that happens to the control plane. */
export interface AvailabilityEvent {
  readonly name: string;
  /** Makes it happen, and resolves when it is over. @throws Error with what did not happen in time */
  run(rig: Rig, settings: EventSettings): Promise<EventFigures>;
}

/** Milliseconds in which an event must be over. */
export const eventMs = 600_000;
