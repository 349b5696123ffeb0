import { type PodObject, pods } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { podProxy, type Proxy } from "@istiod/push-context";
import { AuthorizationQuestionError } from "./question.js";
import { podsNamed } from "./pods-named.js";

/** The caller of a request. */
export interface Caller {
  /** For people. */
  readonly name: string;
  /** SPIFFE ID of its certificate; undefined if it has none. */
  readonly principal?: string;
  /** Address of its Pod; undefined if it is not known. */
  readonly address?: string;
}

/**
 * Finds a caller: `none`, a SPIFFE ID or principal, `namespace/name` of a service account, or `name.namespace` of a
 * Pod or workload.
 *
 * @throws AuthorizationQuestionError if there is no such Pod.
 */
export function findCaller(database: Database<Proxy>, from: string, trustDomain: string): Caller {
  if (from === "none") return { name: "a caller without mutual TLS" };
  if (from.startsWith("spiffe://")) return { name: from, principal: from };
  const parts = from.split("/");
  if (parts.length >= 5 && parts[1] === "ns") return { name: from, principal: `spiffe://${from}` };
  const [namespace = "", account = ""] = parts;
  if (parts.length === 2 && namespace !== "" && account !== "") {
    const pod = database
      .all(pods)
      .find(
        (each) => each.namespace === namespace && each.spec.serviceAccountName === account && hasProxy(database, each),
      );
    return {
      name: `service account ${from}`,
      principal: spiffeId(trustDomain, namespace, account),
      ...addressOf(pod),
    };
  }
  const [pod] = podsNamed(database, from);
  if (pod === undefined)
    throw new AuthorizationQuestionError(
      "from",
      `there is no Pod or workload ${JSON.stringify(from)}: expected name.namespace, namespace/serviceAccount, a SPIFFE ID or none`,
    );
  const identified = hasProxy(database, pod)
    ? { principal: spiffeId(trustDomain, pod.namespace, pod.spec.serviceAccountName) }
    : {};
  return {
    name: `Pod ${pod.name}.${pod.namespace}${identified.principal === undefined ? ", which has no proxy" : ""}`,
    ...identified,
    ...addressOf(pod),
  };
}

function hasProxy(database: Database<Proxy>, pod: PodObject): boolean {
  return podProxy(database, pod) !== undefined;
}

function addressOf(pod: PodObject | undefined): { readonly address?: string } {
  const address = pod?.status?.podIPs[0];
  return address === undefined ? {} : { address };
}

function spiffeId(trustDomain: string, namespace: string, account: string): string {
  return `spiffe://${trustDomain}/ns/${namespace}/sa/${account}`;
}
