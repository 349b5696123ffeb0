/** One debug endpoint: `/debug/<name>`. */
export interface DebugCommand {
  readonly name: string;
  /** One line, for the list. */
  readonly about: string;
  readonly answer: (request: DebugRequest) => DebugAnswer | Promise<DebugAnswer>;
}

export interface DebugRequest {
  readonly query: URLSearchParams;
  /** The namespace of a caller who may see the proxies of that namespace only; undefined: all. */
  readonly namespace: string | undefined;
}

/** JSON, or text with a status. */
export type DebugAnswer =
  { readonly json: unknown } | { readonly status: number; readonly text: string; readonly contentType?: string };

export function refuse(status: number, text: string): DebugAnswer {
  return { status, text: `${text}\n` };
}
