import type { Ask, ReplicaCommands } from "@istiod/replicas";
import { type DebugAnswer, type DebugCommand, type DebugRequest, textAnswer } from "./command.js";

export interface ReplicaCommandsOptions {
  readonly replica: ReplicaCommands;
  /** Asks all replicas. */
  readonly ask: Ask;
}

/** Maximum number of requests at a time that wait for other replicas. */
const maxWaiting = 32;

/** Returns the commands that replicas ask each other, and that clients ask one replica to ask all. */
export function replicaCommands({ replica, ask }: ReplicaCommandsOptions): readonly DebugCommand[] {
  const ofAll = ({ namespace }: DebugRequest): boolean => namespace === undefined;
  const parts = (query: URLSearchParams): readonly [string, URLSearchParams] => {
    const parameters = new URLSearchParams([...query].filter(([name]) => name !== "command" && name !== "pretty"));
    return [query.get("command") ?? "proxies", parameters];
  };
  const confined = textAnswer(403, "This is for callers that may see the proxies of all namespaces.");
  let waiting = 0;
  const askAll = async (query: URLSearchParams): Promise<DebugAnswer> => {
    if (waiting >= maxWaiting) return textAnswer(503, "too many requests at the same time, try again");
    waiting++;
    try {
      return { json: await ask(...parts(query)) };
    } finally {
      waiting--;
    }
  };
  return [
    {
      name: "replica",
      about: "Answer of this replica alone, with its name; ?command=",
      answer: async (request) => (ofAll(request) ? { json: await replica.reply(...parts(request.query)) } : confined),
    },
    {
      name: "replicas",
      about: "Answers of all replicas, or the reason why one has none; ?command=, default: proxies",
      asksReplicas: true,
      answer: async (request) => (ofAll(request) ? askAll(request.query) : confined),
    },
  ];
}
