/** Severity of a finding, as `istioctl analyze` names it. */
export type Level = "Error" | "Warning" | "Info";

/** A kind of finding. */
export interface MessageType {
  /** Name of the message, as in Istio's documentation. */
  readonly name: string;
  readonly level: Level;
  /** One sentence about the cause, for lists of codes. */
  readonly description: string;
}
