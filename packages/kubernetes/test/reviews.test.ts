import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it } from "vitest";
import {
  CachedReviews,
  isAtLeast,
  readServerVersion,
  requestToken,
  reviewSelfAccess,
  reviewSubjectAccess,
  reviewToken,
} from "@istiod/kubernetes";
import { failure, FakeApiClient } from "./fake-client.js";

const user = {
  username: "system:serviceaccount:shop:cart",
  uid: "u1",
  groups: ["system:serviceaccounts"],
  extra: {
    "authentication.kubernetes.io/pod-name": ["cart-1"],
    "authentication.kubernetes.io/pod-uid": ["p1"],
    "authentication.kubernetes.io/node-name": ["node-1"],
  },
};
const accepted = { status: { authenticated: true, audiences: ["istio-ca"], user } };
const request = { token: "t", audiences: ["istio-ca"] };

describe("TokenReviews", () => {
  it("return the user, and the pod and node of its token", async () => {
    const client = new FakeApiClient(() => accepted);
    expect(await reviewToken(client, request)).toEqual({
      authenticated: true,
      user,
      boundTo: { podName: "cart-1", podUid: "p1", nodeName: "node-1" },
      audiences: ["istio-ca"],
    });
    expect(client.requests).toEqual([
      {
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/tokenreviews",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: request },
      },
    ]);
  });

  it.each<[string, object, string | undefined]>([
    ["the server rejects it", { error: "expired" }, "expired"],
    ["the server reports an error too", { ...accepted.status, error: "signer gone" }, "signer gone"],
    ["the server does not authenticate it", { authenticated: false }, undefined],
    ["the server ignores audiences", { authenticated: true, user }, "the token has none of the audiences istio-ca"],
    [
      "it is for another audience",
      { ...accepted.status, audiences: ["other"] },
      "the token has none of the audiences istio-ca",
    ],
  ])("do not authenticate a token if %s", async (_, status, error) => {
    const client = new FakeApiClient(() => ({ status }));
    expect(await reviewToken(client, request)).toEqual({ authenticated: false, ...(error && { error }) });
  });

  it("need an audience and an answer with a user", async () => {
    const client = new FakeApiClient(() => ({ status: { authenticated: true, audiences: ["istio-ca"] } }));
    await expect(reviewToken(client, { token: "t", audiences: [] })).rejects.toMatchObject({ code: "invalid" });
    await expect(reviewToken(client, request)).rejects.toMatchObject({ code: "malformed" });
  });
});

describe("access reviews", () => {
  const access = { verb: "list", group: "", resource: "secrets", namespace: "shop" };

  it("ask for a user or for the client itself", async () => {
    const client = new FakeApiClient(() => ({ status: { allowed: true, reason: "RBAC" } }));
    expect(await reviewSubjectAccess(client, user, access)).toEqual({ allowed: true, reason: "RBAC" });
    await reviewSelfAccess(client, { verb: "get", path: "/debug" });
    expect(client.requests.map(({ path, body }) => [path, (body as { spec: object }).spec])).toEqual([
      [
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        { user: user.username, uid: "u1", groups: user.groups, extra: user.extra, resourceAttributes: access },
      ],
      [
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        { nonResourceAttributes: { verb: "get", path: "/debug" } },
      ],
    ]);
  });

  it("do not allow what is denied too, or not answered", async () => {
    const denying = new FakeApiClient(() => ({ status: { allowed: true, denied: true } }));
    expect(await reviewSelfAccess(denying, access)).toEqual({ allowed: false });
    const empty = new FakeApiClient(() => ({ status: {} }));
    await expect(reviewSelfAccess(empty, access)).rejects.toMatchObject({ code: "malformed" });
  });
});

describe("cached reviews", () => {
  const denied = { status: { authenticated: false } };

  it("remember results for their time, negative ones shorter", async () => {
    const clock = new FakeClock();
    const client = new FakeApiClient(({ body }) =>
      (body as { spec: { token: string } }).spec.token === "good" ? accepted : denied,
    );
    const reviews = new CachedReviews(client, { clock, positiveTtlMs: 10, negativeTtlMs: 3 });
    const ask = async (): Promise<boolean[]> =>
      Promise.all(["good", "bad"].map(async (token) => (await reviews.token({ ...request, token })).authenticated));
    expect(await ask()).toEqual([true, false]);
    clock.advance(2);
    await ask();
    expect(client.requests).toHaveLength(2);
    clock.advance(1);
    await ask();
    expect(client.requests).toHaveLength(3);
    clock.advance(7);
    await ask();
    expect(client.requests).toHaveLength(5);
  });

  it("send equal requests in flight once, and different ones separately", async () => {
    const client = new FakeApiClient(({ path }) => (path.includes("token") ? accepted : { status: { allowed: true } }));
    const reviews = new CachedReviews(client);
    const access = { verb: "get", group: "", resource: "pods" };
    const both = await Promise.all([
      reviews.token(request),
      reviews.token(request),
      reviews.token({ ...request, audiences: ["istio-ca", "other"] }),
      reviews.subjectAccess(user, access),
      reviews.subjectAccess({ username: user.username }, access),
    ]);
    expect(both[0]).toBe(both[1]);
    expect(client.requests).toHaveLength(4);
  });

  it("forget errors, and the oldest result when they are full", async () => {
    let fails = true;
    const client = new FakeApiClient(() => {
      if (fails) throw failure.unavailable();
      return accepted;
    });
    const reviews = new CachedReviews(client, { maxEntries: 2 });
    await expect(reviews.token(request)).rejects.toMatchObject({ code: "unavailable" });
    expect(reviews.size).toBe(0);
    fails = false;
    for (const token of ["1", "2", "3", "3", "2", "1"]) await reviews.token({ ...request, token });
    expect(reviews.size).toBe(2);
    expect(client.requests.slice(1).map(({ body }) => (body as { spec: { token: string } }).spec.token)).toEqual([
      ...["1", "2", "3", "1"],
    ]);
  });
});

it("TokenRequests return a token and its expiry", async () => {
  const client = new FakeApiClient(() => ({ status: { token: "t", expirationTimestamp: "2026-01-01T00:00:00Z" } }));
  const account = { namespace: "shop", name: "cart" };
  expect(await requestToken(client, account, { audiences: ["a"], expirationSeconds: 900 })).toEqual({
    token: "t",
    expires: Date.UTC(2026, 0, 1),
  });
  expect(client.requests[0]).toMatchObject({
    method: "POST",
    path: "/api/v1/namespaces/shop/serviceaccounts/cart/token",
    body: { kind: "TokenRequest", spec: { audiences: ["a"], expirationSeconds: 900 } },
  });
  const empty = new FakeApiClient(() => ({ status: {} }));
  await expect(requestToken(empty, account)).rejects.toMatchObject({ code: "malformed" });
});

it("the server's version is parsed, with the suffixes of distributions", async () => {
  const version = (answer: unknown) => readServerVersion(new FakeApiClient(() => answer));
  const found = await version({ major: "1", minor: "27+", gitVersion: "v1.27.3-gke.100" });
  expect(found).toEqual({ major: 1, minor: 27, gitVersion: "v1.27.3-gke.100" });
  expect([isAtLeast(found, 1, 27), isAtLeast(found, 1, 28), isAtLeast(found, 0, 99)]).toEqual([true, false, true]);
  await expect(version({ major: "", minor: "", gitVersion: "v1" })).rejects.toMatchObject({ code: "malformed" });
  await expect(version(null)).rejects.toMatchObject({ code: "malformed" });
});
