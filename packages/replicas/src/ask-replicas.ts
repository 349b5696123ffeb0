import { type Gathered, joinGathered } from "./gathered.js";
import { type Replica, ReplicaError, type ReplicaReply } from "./replica.js";

export interface AskOptions {
  /** Milliseconds that each replica has for its complete answer. Default: 10,000. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 10_000;

/** Asks all replicas at once. One that does not answer in time, or not completely, is silent, with the reason. */
export async function askReplicas(
  replicas: readonly Replica[],
  command: string,
  parameters: URLSearchParams,
  { timeoutMs = defaultTimeoutMs }: AskOptions = {},
): Promise<Gathered<unknown>> {
  const replies = await Promise.all(
    replicas.map((replica) =>
      askInTime(replica, command, parameters, timeoutMs).then(
        (reply): Gathered<unknown> =>
          "error" in reply
            ? { answers: [], failures: [reply], silent: [] }
            : { answers: [reply], failures: [], silent: [] },
        (error: unknown): Gathered<unknown> => {
          if (!(error instanceof ReplicaError)) throw error;
          return { answers: [], failures: [], silent: [{ name: replica.name, reason: error.message }] };
        },
      ),
    ),
  );
  return joinGathered(replies);
}

/** Asks a replica, and gives up after a time even if it ignores the signal. */
async function askInTime(
  replica: Replica,
  command: string,
  parameters: URLSearchParams,
  timeoutMs: number,
): Promise<ReplicaReply> {
  const ended = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new ReplicaError("timeout", `no answer within ${timeoutMs / 1000}s`));
      ended.abort();
    }, timeoutMs);
  });
  try {
    return await Promise.race([replica.ask(command, parameters, ended.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
