import type { IncomingMessage } from "node:http";
import { staticTokens } from "@istiod/ca";
import { DebugAccess } from "@istiod/introspection";
import { expect, it } from "vitest";

const tokenOf = (namespace: string): string => `token-of-${namespace}-0123456789`;
const authenticators = () => [
  staticTokens(
    ["istio-system", "shop", "tools"].map(
      (namespace) => [tokenOf(namespace), { trustDomain: "cluster.local", namespace, serviceAccount: "a" }] as const,
    ),
  ),
];

const strangers = () => [
  staticTokens([
    [tokenOf("stranger"), { trustDomain: "other.example", namespace: "istio-system", serviceAccount: "istiod" }],
  ]),
];

const rejected: unknown[] = [];

async function ask(
  path: string,
  {
    from = "10.0.0.1",
    token,
    isRequired = true,
    allowedNamespaces = [],
  }: { from?: string; token?: string; isRequired?: boolean; allowedNamespaces?: readonly string[] },
): Promise<string> {
  const access = new DebugAccess({
    authenticators: () => [...authenticators(), ...strangers()],
    trustDomain: "cluster.local",
    rootNamespace: () => "istio-system",
    isRequired,
    allowedNamespaces,
    onRejected: (_, at, { status }, identities) => rejected.push([at, status, identities]),
  });
  const request = {
    socket: { remoteAddress: from },
    headers: token === undefined ? {} : { authorization: `Bearer ${tokenOf(token)}` },
  } as IncomingMessage;
  const refusal = await access.guard(request, path);
  return refusal === undefined ? `200 ${access.namespaceOf(request) ?? "all"}` : String(refusal.status);
}

it("allows everything on loopback, and rejects unauthenticated remote callers", async () => {
  expect(await ask("/debug/configz", { from: "127.0.0.1" })).toBe("200 all");
  expect(await ask("/debug/configz", { from: "::1" })).toBe("200 all");
  expect(await ask("/debug/configz", { from: "::ffff:127.0.0.9" })).toBe("200 all");
  expect(await ask("/debug/configz", {})).toBe("401");
  expect(await ask("/debug/configz", { token: "wrong" })).toBe("401");
  expect(await ask("/metrics", {})).toBe("200 all");
});

it("authorizes requests for the status page like those for debug endpoints", async () => {
  expect(await ask("/", { from: "127.0.0.1" })).toBe("200 all");
  expect(await ask("/", {})).toBe("401");
  expect(await ask("/", { token: "istio-system" })).toBe("200 all");
  expect(await ask("/", { token: "shop" })).toBe("403");
  expect(await ask("/ready", {})).toBe("200 all");
});

it("limits callers in other namespaces to a few endpoints and to their own proxies", async () => {
  expect(await ask("/debug/configz", { token: "istio-system" })).toBe("200 all");
  rejected.splice(0);
  expect(await ask("/debug/configz", { token: "shop" })).toBe("403");
  expect(await ask("/debug/configz", {})).toBe("401");
  expect(rejected).toEqual([
    ["/debug/configz", 403, ["spiffe://cluster.local/ns/shop/sa/a"]],
    ["/debug/configz", 401, undefined],
  ]);
  for (const path of ["config_dump", "ndsz", "edsz"])
    expect(await ask(`/debug/${path}`, { token: "shop" })).toBe("200 shop");
  expect(await ask("/debug/configz", { token: "tools", allowedNamespaces: ["other", "tools"] })).toBe("200 all");
  expect(await ask("/debug/configz", { token: "shop", isRequired: false })).toBe("200 all");
});

it("allows nothing to the root namespace of another trust domain", async () => {
  rejected.splice(0);
  for (const path of ["/", "/debug/configz", "/debug/config_dump"])
    expect(await ask(path, { token: "stranger" })).toBe("403");
  expect(rejected[0]).toEqual(["/", 403, ["spiffe://other.example/ns/istio-system/sa/istiod"]]);
});
