import type { ConnectedProxy, JoinedConnections } from "./connected-proxies.js";
import type { Gathered } from "./gathered.js";
import { isRecord, ReplicaError } from "./replica.js";

/** The answer to the command `client_status`: a `DiscoveryResponse` with a `ClientConfig` for each proxy, as JSON. */
export interface ClientStatus {
  readonly resources?: readonly Readonly<Record<string, unknown>>[];
}

/** Decodes the answer to the command `client_status`. @throws ReplicaError `malformed` */
export function decodeClientStatus(answer: unknown): ClientStatus {
  const resources = isRecord(answer) ? (answer["resources"] ?? []) : undefined;
  if (!Array.isArray(resources) || !resources.every(isRecord))
    throw new ReplicaError("malformed", "its client status has another form");
  return answer as ClientStatus;
}

/** Leaves out the proxies that have connected to another replica, or again, since. */
export function latestClientStatuses(
  { answers, ...others }: Gathered<ClientStatus>,
  { latest }: Pick<JoinedConnections<ConnectedProxy>, "latest">,
): Gathered<ClientStatus> {
  const replicaOf = new Map(latest.map(({ replica, proxy }) => [`${proxy.cluster}\0${proxy.node}`, replica]));
  const current = answers.map(({ instance, answer }) => {
    const { resources = [] } = answer;
    // A proxy that has connected since the list of proxies was read is in none.
    const own = resources.filter((each) => [instance.id, undefined].includes(replicaOf.get(keyOf(each))));
    const byProxy = new Map(own.map((each) => [keyOf(each), each]));
    return { instance, answer: { ...answer, ...(answer.resources && { resources: [...byProxy.values()] }) } };
  });
  return { ...others, answers: current };
}

function keyOf({ node }: Readonly<Record<string, unknown>>): string {
  const { id, metadata } = isRecord(node) ? node : {};
  const cluster = isRecord(metadata) ? metadata["CLUSTER_ID"] : undefined;
  return `${typeof cluster === "string" ? cluster : ""}\0${typeof id === "string" ? id : ""}`;
}
