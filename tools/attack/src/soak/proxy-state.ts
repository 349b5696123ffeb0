/**
 * The connection of an honest proxy to one start of istiod. Starts are counted from 1; an attempt between a kill and
 * the next start belongs to the next start.
 */
export type ProxyState =
  | { readonly kind: "connecting"; readonly start: number }
  /** Istiod has answered. */
  | { readonly kind: "connected"; readonly start: number }
  | { readonly kind: "ended" };

/** The cause of the end of a stream: a kill of istiod, an attempt that istiod did not answer, or istiod as it ran. */
export type EndCause = "kill" | "attempt" | "running";

export const notConnected: ProxyState = { kind: "ended" };

/** Returns the state of a proxy that opens a stream. @param start the start that runs, or the next one */
export function opened(start: number): ProxyState {
  return { kind: "connecting", start };
}

/** Returns the state after a response. */
export function answered(state: ProxyState): ProxyState {
  return state.kind === "connecting" ? { kind: "connected", start: state.start } : state;
}

/**
 * Returns the cause of the end of a stream. A proxy may notice a kill only by a ping, after istiod was started again:
 * the end belongs to the start that the stream was opened to.
 *
 * @param start the start that runs, or the next one
 */
export function causeOfEnd(state: ProxyState, start: number): EndCause {
  if (state.kind === "ended") throw new Error("a proxy without a stream cannot lose it");
  if (state.start < start) return "kill";
  return state.kind === "connected" ? "running" : "attempt";
}

/** Reports whether a proxy has an answer of a start. */
export function isConnectedTo(state: ProxyState, start: number): boolean {
  return state.kind === "connected" && state.start === start;
}
