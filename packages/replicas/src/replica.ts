/** One process of a control plane. */
export interface ReplicaInstance {
  /** Unique for the lifetime of the process. */
  readonly id: string;
  /** Name of its Pod, otherwise of its host. */
  readonly name: string;
  readonly version: string;
  readonly revision: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** The reply of a replica to a command: its answer as JSON, or the reason why it has none. */
export type ReplicaReply =
  | { readonly instance: ReplicaInstance; readonly answer: unknown }
  | { readonly instance: ReplicaInstance; readonly error: string };

/** A replica that can be asked. */
export interface Replica {
  /** Name for messages: that of its Pod, otherwise its address. */
  readonly name: string;
  /**
   * Asks for the answer to a command.
   *
   * @throws ReplicaError if the replica does not answer, or not in this form
   */
  ask(command: string, parameters: URLSearchParams, signal: AbortSignal): Promise<ReplicaReply>;
}

/** Reasons why there is no answer of a replica. */
export type ReplicaErrorCode =
  /** No connection, or it ended before the answer was complete. */
  | "unreachable"
  /** No complete answer in time. */
  | "timeout"
  /** The caller is not authenticated or not authorized. */
  | "denied"
  /** The replica does not know the command, as one of another version may not. */
  | "unsupported"
  /** The answer is incomplete or of another form. */
  | "malformed";

/** Failure to get an answer of a replica. */
export class ReplicaError extends Error {
  override readonly name = "ReplicaError";

  constructor(
    readonly code: ReplicaErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Parses the text of a reply.
 *
 * @throws ReplicaError `unsupported` if the text is a message instead of JSON, `malformed` if it is incomplete or of
 *   another form
 */
export function parseReply(text: string): ReplicaReply {
  const value = parseJson(text);
  if (!isRecord(value) || !isInstance(value["instance"])) throw new ReplicaError("malformed", "has no instance");
  const { instance, answer, error } = value;
  if (typeof error === "string") return { instance, error };
  if (answer === undefined) throw new ReplicaError("malformed", "has neither an answer nor an error");
  return { instance, answer };
}

/** Parses JSON. @throws ReplicaError */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    if (/^\s*[[{]/.test(text)) throw new ReplicaError("malformed", "incomplete answer", { cause });
    throw new ReplicaError("unsupported", `does not support this command: ${firstLine(text)}`, { cause });
  }
}

/** Reports whether a value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reports whether a value describes a replica. */
export function isInstance(value: unknown): value is ReplicaInstance {
  return (
    isRecord(value) &&
    ["id", "name", "version", "revision"].every((field) => typeof value[field] === "string") &&
    typeof value["startedAt"] === "number"
  );
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
