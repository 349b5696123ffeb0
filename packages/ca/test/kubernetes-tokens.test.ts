import { describe, expect, it } from "vitest";
import { type Credentials, kubernetesTokens, type KubernetesTokensOptions } from "@istiod/ca";
import type { TokenReviewRequest, TokenReviewResult } from "@istiod/kubernetes";

const authenticated = {
  authenticated: true,
  user: {
    username: "system:serviceaccount:shop:cart",
    groups: ["system:serviceaccounts", "system:authenticated"],
    extra: {},
  },
  boundTo: { podName: "cart-1", podUid: "p1", nodeName: "node-1" },
  audiences: ["istio-ca"],
} as const;
const credentials = (headers: Readonly<Record<string, string>>): Credentials => ({
  encrypted: true,
  header: (name) => headers[name],
});
const bearer = (clusterid?: string): Credentials =>
  credentials({ authorization: "Bearer token", ...(clusterid !== undefined && { clusterid }) });

/** A cluster whose TokenReviews have one result. */
class Cluster {
  readonly asked: TokenReviewRequest[] = [];
  constructor(readonly result: TokenReviewResult | Error = authenticated) {}
  async token(request: TokenReviewRequest): Promise<TokenReviewResult> {
    this.asked.push(request);
    if (this.result instanceof Error) throw this.result;
    return this.result;
  }
}

const authenticator = (reviews: Cluster, options: Partial<KubernetesTokensOptions> = {}) =>
  kubernetesTokens({ clusterId: "Kubernetes", trustDomain: "cluster.local", reviews, ...options });

describe("Kubernetes tokens", () => {
  it("authenticate the service account and its pod, for the audience istio-ca", async () => {
    const cluster = new Cluster();
    expect(await authenticator(cluster).authenticate(bearer())).toEqual({
      identities: ["spiffe://cluster.local/ns/shop/sa/cart"],
      by: "Kubernetes token",
      pod: {
        cluster: "Kubernetes",
        namespace: "shop",
        name: "cart-1",
        uid: "p1",
        serviceAccount: "cart",
        node: "node-1",
      },
    });
    expect(cluster.asked).toEqual([{ token: "token", audiences: ["istio-ca"] }]);
    await authenticator(cluster, { audiences: ["a", "b"] }).authenticate(bearer());
    expect(cluster.asked.at(-1)).toEqual({ token: "token", audiences: ["a", "b"] });
    expect(await authenticator(cluster).authenticate(credentials({}))).toBeUndefined();
    expect(() => authenticator(cluster, { audiences: [] })).toThrow("at least one is required");
  });

  it("have no pod if they are not bound to one", async () => {
    const { boundTo: _boundTo, ...rest } = authenticated;
    const caller = await authenticator(new Cluster({ ...rest, boundTo: {} })).authenticate(bearer());
    expect(caller).toEqual({ identities: ["spiffe://cluster.local/ns/shop/sa/cart"], by: "Kubernetes token" });
  });

  it("are reviewed again if the credentials for the cluster are replaced during the review", async () => {
    const [before, after] = [new Cluster(new Error("the client is closed")), new Cluster()];
    let current = before;
    const review = before.token.bind(before);
    before.token = async (request) => {
      current = after;
      return await review(request);
    };
    const remoteReviews = () => new Map([["east", current]]);
    const caller = await authenticator(new Cluster(), { remoteReviews }).authenticate(bearer("east"));
    expect(caller?.identities).toEqual(["spiffe://cluster.local/ns/shop/sa/cart"]);
    expect([before.asked.length, after.asked.length]).toEqual([1, 1]);
  });

  const withUser = (user: object): TokenReviewResult => ({
    ...authenticated,
    user: { ...authenticated.user, ...user },
  });
  it.each<[string, TokenReviewResult | Error, string]>([
    [
      "the review returns an error",
      { authenticated: false, error: "expired" },
      "the service account authentication returns an error: expired",
    ],
    ["it is not authenticated", { authenticated: false }, "the token is not authenticated"],
    ["it is a user's", withUser({ groups: ["system:authenticated"] }), "the token is not a service account"],
    ["the API server does not answer", new Error("GET /: connection reset"), "GET /: connection reset"],
    ...[
      "system:serviceaccount:shop",
      "user:serviceaccount:shop:cart",
      "system:serviceaccount:shop:cart:x",
      "a:b:c:D/",
    ].map((username): [string, TokenReviewResult, string] => [
      `the user is ${username}`,
      withUser({ username }),
      "invalid username field in the token review result",
    ]),
  ])("are rejected if %s", async (_, result, reason) => {
    await expect(authenticator(new Cluster(result)).authenticate(bearer())).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining(`failed to validate the JWT from cluster "": ${reason}`),
    });
  });

  it("are reviewed by the cluster that the caller names, directly or by an alias", async () => {
    const [local, remote] = [new Cluster(), new Cluster()];
    const tokens = authenticator(local, {
      clusterAliases: { home: "Kubernetes", "far-alias": "far", lost: "gone" },
      remoteReviews: () => new Map([["far", remote]]),
    });
    for (const cluster of [undefined, "", "Kubernetes", "home"]) await tokens.authenticate(bearer(cluster));
    expect([local.asked.length, remote.asked.length]).toEqual([4, 0]);
    for (const cluster of ["far", "far-alias"]) await tokens.authenticate(bearer(cluster));
    expect([local.asked.length, remote.asked.length]).toEqual([4, 2]);
    for (const cluster of ["other", "lost", "constructor"]) {
      await expect(tokens.authenticate(bearer(cluster))).rejects.toMatchObject({
        code: "unauthenticated",
        message: `client claims to be in cluster "${cluster}", but we only know about local cluster "Kubernetes" and remote clusters [far]`,
      });
    }
    expect([local.asked.length, remote.asked.length]).toEqual([4, 2]);
  });
});
