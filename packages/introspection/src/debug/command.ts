/** One debug endpoint: `/debug/<name>`. */
export interface DebugCommand {
  readonly name: string;
  /** One line for the index. */
  readonly about: string;
  /**
   * Reports whether a query changes state or takes long. Over HTTP such a query needs POST, or a caller on this
   * machine.
   */
  readonly changesState?: (query: URLSearchParams) => boolean;
  /** Set if the answer waits for other replicas. Not served over xDS, where replicas could wait for each other. */
  readonly asksReplicas?: true;
  readonly answer: (request: DebugRequest) => DebugAnswer | Promise<DebugAnswer>;
}

export interface DebugRequest {
  readonly query: URLSearchParams;
  /** The namespace whose proxies the caller may see; undefined: all proxies. */
  readonly namespace: string | undefined;
}

/** JSON, or text with a status. */
export type DebugAnswer =
  | { readonly json: unknown }
  | { readonly status: number; readonly text: string; readonly contentType?: string }
  /** With all headers. */
  | { readonly status: number; readonly text: string; readonly headers: Readonly<Record<string, string>> };

/** Returns a line of plain text with an HTTP status. */
export function textAnswer(status: number, text: string): DebugAnswer {
  return { status, text: `${text}\n` };
}
