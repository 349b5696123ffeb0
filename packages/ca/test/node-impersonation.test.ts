import { type AccountOnNode, type BoundPod, type Caller, nodeImpersonation, type NodePod } from "@istiod/ca";
import { describe, expect, it } from "vitest";

const agent: BoundPod = {
  cluster: "east",
  namespace: "kube-system",
  name: "ztunnel-1",
  uid: "u1",
  serviceAccount: "ztunnel",
  node: "node-1",
};
const pod: NodePod = { uid: "u1", node: "node-1", serviceAccount: "ztunnel" };
const cart: AccountOnNode = { cluster: "east", node: "node-1", namespace: "shop", serviceAccount: "cart" };

interface Situation {
  readonly caller?: Partial<BoundPod>;
  readonly pods?: Readonly<Record<string, NodePod>>;
  readonly running?: readonly AccountOnNode[];
  readonly trusted?: readonly string[];
}

/** Returns the reason why an agent may not have the certificate of `cart`; undefined if it may. */
function refusal({ caller = {}, pods = { "east/kube-system/ztunnel-1": pod }, running = [cart], trusted }: Situation) {
  const authorize = nodeImpersonation({
    trustedAccounts: new Set(trusted ?? ["kube-system/ztunnel"]),
    pods: {
      pod: (cluster, namespace, name) => pods[`${cluster}/${namespace}/${name}`],
      runs: (account) => running.some((each) => JSON.stringify(each) === JSON.stringify(account)),
    },
  });
  const bound: BoundPod = { ...agent, ...caller };
  return reasonOf(() => authorize(callerWith(bound), { trustDomain: "td", namespace: "shop", serviceAccount: "cart" }));
}

const callerWith = (bound: BoundPod | undefined): Caller => ({
  identities: ["spiffe://td/ns/kube-system/sa/ztunnel"],
  by: "Kubernetes token",
  ...(bound && { pod: bound }),
});

function reasonOf(call: () => void): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ name: "CaError", code: "impersonation" });
    return (error as Error).message;
  }
}

describe("an agent of a node", () => {
  it("may have certificates of the service accounts on its node, with and without a node in its token", () => {
    expect(refusal({})).toBeUndefined();
    const { node: _node, ...withoutNode } = agent;
    const authorize = nodeImpersonation({
      trustedAccounts: new Set(["kube-system/ztunnel"]),
      pods: { pod: () => pod, runs: ({ node }) => node === "node-1" },
    });
    const identity = { trustDomain: "td", namespace: "shop", serviceAccount: "cart" };
    expect(reasonOf(() => authorize(callerWith(withoutNode), identity))).toBeUndefined();
    expect(reasonOf(() => authorize(callerWith(undefined), identity))).toBe("the caller's token is not bound to a Pod");
  });

  const name = "Pod kube-system/ztunnel-1 of cluster east";
  it.each<[string, Situation, string]>([
    ["without a trusted account", { trusted: [] }, "the caller's account kube-system/ztunnel is not trusted with it"],
    [
      "of the same name in another namespace",
      { caller: { namespace: "shop" } },
      "the caller's account shop/ztunnel is not trusted with it",
    ],
    ["whose Pod is gone", { pods: {} }, `${name} is not known`],
    ["whose Pod is in another cluster", { pods: { "west/kube-system/ztunnel-1": pod } }, `${name} is not known`],
    [
      "whose Pod was replaced by one of its name",
      { caller: { uid: "u0" } },
      `${name} has the UID "u1", the token is bound to "u0"`,
    ],
    [
      "whose Pod has no UID, because it was read of a file",
      { caller: { uid: "" }, pods: { "east/kube-system/ztunnel-1": { ...pod, uid: "" } } },
      `${name} has the UID "", the token is bound to ""`,
    ],
    [
      "whose Pod has another service account",
      { pods: { "east/kube-system/ztunnel-1": { ...pod, serviceAccount: "other" } } },
      `${name} has the service account other, the token is of ztunnel`,
    ],
    [
      "whose Pod is not scheduled",
      { pods: { "east/kube-system/ztunnel-1": { ...pod, node: "" } } },
      `${name} is not on a node`,
    ],
    [
      "whose token is bound to another node",
      { caller: { node: "node-2" } },
      `${name} is on node node-1, the token is bound to node node-2`,
    ],
    ["without such a Pod", { running: [] }, "no Pod of service account shop/cart runs on node node-1"],
    [
      "on another node than the Pod",
      { running: [{ ...cart, node: "node-2" }] },
      "no Pod of service account shop/cart runs on node node-1",
    ],
    [
      "with a Pod of that name in another cluster",
      { running: [{ ...cart, cluster: "west" }] },
      "no Pod of service account shop/cart runs on node node-1",
    ],
  ])("%s may not", (_, situation, reason) => expect(refusal(situation)).toBe(reason));
});
