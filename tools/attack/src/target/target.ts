/** A running server with honest clients. */
export interface Target {
  readonly pid: number;
  /** Address that answers 200 while the server is ready. */
  readonly readyUrl: string;
  /** Number of honest streams that were closed since the start. */
  readonly streamsLost: number;
  isAlive(): boolean;
  /** Connects another honest client. `waitMs` returns the time until it was served; undefined if it was not. */
  join(): { waitMs(): Promise<number | undefined> };
  /** Edits the mesh. Reports whether every honest client received the result in time. */
  update(): Promise<boolean>;
  close(): Promise<void>;
}
