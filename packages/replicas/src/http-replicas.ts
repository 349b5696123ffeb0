import { askReplicas } from "./ask-replicas.js";
import { type Ask, onlyParameter } from "./control-plane.js";
import { type Gathered, joinGathered, parseGathered } from "./gathered.js";
import { parseJson, parseReply, type Replica, ReplicaError } from "./replica.js";

export interface HttpReplicasOptions {
  /** Milliseconds for the complete answer. Default: 70,000, more than a replica waits for others. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 70_000;

/**
 * Returns the function by which a client asks a control plane over HTTP. With one URL, the replica there asks all; with
 * several, each is asked for itself. Requests are posted, so that tokens in them are in no URL.
 *
 * @throws Error if a URL is invalid
 */
export function httpReplicas(urls: readonly string[], { timeoutMs = defaultTimeoutMs }: HttpReplicasOptions = {}): Ask {
  const bases = urls.map(parseBase);
  return async (command, parameters = new URLSearchParams(), { only } = {}) => {
    const asked = only === undefined ? parameters : new URLSearchParams([...parameters, [onlyParameter, only]]);
    const [base] = bases;
    if (bases.length === 1 && base !== undefined) return askAll(base, command, asked, timeoutMs);
    const gathered = await askReplicas(bases.map(httpReplica), command, asked, { timeoutMs });
    return only === undefined ? gathered : { ...gathered, ...answersOf(gathered, only) };
  };
}

/** A replica at a URL, asked for itself. */
export function httpReplica(base: URL): Replica {
  return {
    name: base.origin,
    ask: async (command, parameters, signal) =>
      parseReply(await post(new URL("debug/replica", base), withCommand(command, parameters), signal)),
  };
}

/** Asks the replica at a URL for the answers of all. Without an answer, the URL is the silent replica. */
async function askAll(
  base: URL,
  command: string,
  parameters: URLSearchParams,
  timeoutMs: number,
): Promise<Gathered<unknown>> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const text = await post(new URL("debug/replicas", base), withCommand(command, parameters), signal);
    return joinGathered([parseGathered(parseJson(text))]);
  } catch (error) {
    if (!(error instanceof ReplicaError)) throw error;
    return { answers: [], failures: [], silent: [{ name: base.origin, reason: error.message }] };
  }
}

function answersOf<T>({ answers, failures, silent }: Gathered<T>, only: string): Gathered<T> {
  const found = {
    answers: answers.filter(({ instance }) => instance.id === only),
    failures: failures.filter(({ instance }) => instance.id === only),
  };
  return { ...found, silent: found.answers.length + found.failures.length > 0 ? [] : silent };
}

function withCommand(command: string, parameters: URLSearchParams): URLSearchParams {
  return new URLSearchParams([["command", command], ...parameters]);
}

async function post(url: URL, form: URLSearchParams, signal: AbortSignal): Promise<string> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const failed = (cause: unknown): never => {
    if (signal.aborted) throw new ReplicaError("timeout", "no answer in time", { cause });
    throw new ReplicaError("unreachable", `no response: ${causeOf(cause)}`, { cause });
  };
  const response = await fetch(url, { method: "POST", headers, body: form.toString(), signal }).catch(failed);
  const text = await response.text().catch(failed);
  if (response.status === 401 || response.status === 403)
    throw new ReplicaError("denied", `answers ${response.status}: ${text.trim()}`);
  if (response.status === 404)
    throw new ReplicaError("unsupported", `does not support this command: ${url.pathname} answers 404`);
  if (!response.ok) throw new ReplicaError("malformed", `answers ${response.status}: ${text.trim()}`);
  return text;
}

/** Returns the system's message of a failed fetch, whose own says nothing. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return cause instanceof Error ? cause.message : String(cause);
}

function parseBase(url: string): URL {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error(`--istiod ${url}: expected a URL such as http://127.0.0.1:8080`);
  return new URL(url.endsWith("/") ? url : `${url}/`);
}
