/** The event that made a type due for a push. */
export interface Trigger {
  readonly reason: "request" | "change";
  /** Time of the event in milliseconds since the epoch. */
  readonly since: number;
}
