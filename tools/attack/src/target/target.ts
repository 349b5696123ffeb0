import type { LongTurn } from "@istiod/bench";

/** A running server with honest clients. */
export interface Target {
  readonly pid: number;
  /** Address that answers 200 while the server is ready. */
  readonly readyUrl: string;
  /** Number of honest streams that were closed since the start. */
  readonly streamsLost: number;
  /** Returns the long turns of the server's event loop since the last call, if they are recorded. */
  longTurns?(): Promise<readonly LongTurn[]>;
  isAlive(): boolean;
  /** Connects another honest client. `waitMs` returns the time until it was served; undefined if it was not. */
  join(): { waitMs(): Promise<number | undefined> };
  /** Edits the mesh. Reports whether every honest client received the result in time. */
  update(): Promise<boolean>;
  close(): Promise<void>;
}
