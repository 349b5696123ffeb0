import { connectionNamed, decodeProxies, joinConnections } from "./connected-proxies.js";
import type { Ask } from "./control-plane.js";
import { decodeAnswers, type ReplicaAnswer, type SilentReplica } from "./gathered.js";

/** The answer about a proxy of the replica that has it. */
export interface ProxyAnswer {
  /** Absent if no replica that answers has the proxy. */
  readonly found?: ReplicaAnswer<unknown>;
  readonly silent: readonly SilentReplica[];
}

/**
 * Asks the replica that has a proxy.
 *
 * @param proxy node ID, `name.namespace` or connection ID
 * @param fallback asks any replica if none has the proxy, for commands that need no connection
 * @throws Error with the message of the replica that cannot answer, or if no replica answers
 */
export async function askProxyReplica(
  ask: Ask,
  proxy: string,
  command: string,
  parameters: URLSearchParams,
  { fallback = false }: { readonly fallback?: boolean } = {},
): Promise<ProxyAnswer> {
  const proxies = decodeAnswers(await ask("proxies"), decodeProxies);
  const { silent } = proxies;
  const { latest } = joinConnections(proxies, (answer) => answer);
  const connection = connectionNamed(latest, proxy);
  const only = connection?.replica ?? (fallback ? proxies.answers[0]?.instance.id : undefined);
  if (only === undefined) return { silent };
  const { answers, failures, silent: since } = await ask(command, parameters, { only });
  if (failures[0] !== undefined) throw new Error(failures[0].error.trim());
  const all = [...silent, ...since.filter(({ name }) => silent.every((each) => each.name !== name))];
  return { ...(answers[0] && { found: answers[0] }), silent: all };
}
