import { onlyParameter } from "./control-plane.js";
import type { ReplicaInstance, ReplicaReply } from "./replica.js";

/** The answer of a command: JSON, or a text that says why there is none. */
export type CommandAnswer = { readonly json: unknown } | { readonly text: string };

export interface ReplicaCommandsOptions {
  /** This process. */
  readonly instance: ReplicaInstance;
  /** Answers a command; undefined if there is none of this name. */
  readonly answer: (command: string, parameters: URLSearchParams) => Promise<CommandAnswer> | undefined;
}

/**
 * Commands that replicas answer each other, and clients of a control plane ask for. They change nothing, because the
 * replica that passes a request on does so with its own identity.
 */
export const sharedCommands = [
  "proxies",
  "page",
  "status",
  "client_status",
  "config_dump",
  "proxy_details",
  "explain",
  "authz",
  "analyze",
  "clusterz",
] as const;

/** The commands of one replica, with the form of replies. */
export class ReplicaCommands {
  readonly #options: ReplicaCommandsOptions;

  constructor(options: ReplicaCommandsOptions) {
    this.#options = options;
  }

  /** Replies to a command. An unknown command and one that is meant for another replica are errors. */
  async reply(command: string, parameters: URLSearchParams): Promise<ReplicaReply> {
    const { instance, answer } = this.#options;
    const only = parameters.get(onlyParameter);
    if (only !== null && only !== instance.id) return { instance, error: "another replica is asked" };
    const own = new URLSearchParams([...parameters].filter(([name]) => name !== onlyParameter));
    const isShared = sharedCommands.some((name) => name === command);
    const answered = isShared ? answer(command, own) : undefined;
    if (answered === undefined)
      return { instance, error: `version ${instance.version} has no shared command ${JSON.stringify(command)}` };
    const found = await answered;
    return "json" in found ? { instance, answer: found.json } : { instance, error: found.text };
  }
}
