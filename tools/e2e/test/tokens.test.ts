import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { OidcProvider } from "@istiod/jwks/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answered, eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const forger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const jwks = JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] });
const hour = 3600;

type Claims = Readonly<Record<string, unknown>>;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Returns a token with a signature by a function of its content. */
function signed(header: object, claims: Claims, signature: (content: string) => Buffer): string {
  const exp = Math.floor(Date.now() / 1000) + hour;
  const content = `${part(header)}.${part({ sub: "ann", aud: "shop", exp, ...claims })}`;
  return `${content}.${signature(content).toString("base64url")}`;
}

const token = (claims: Claims, key: KeyObject = privateKey): string =>
  signed({ alg: "RS256" }, claims, (content) => sign("sha256", Buffer.from(content), key));

const bearer = (text: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${text}` });

const requestAuthentication = (name: string, namespace: string, spec: object): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name, namespace },
    spec,
  });
const gatewayOf = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "gate" };

function objects({ issuer, jwksUri }: OidcProvider): string {
  const web = {
    selector: { matchLabels: { app: "web" } },
    jwtRules: [
      {
        issuer: "headers",
        jwks,
        fromHeaders: [{ name: "x-token", prefix: "Token " }],
        forwardOriginalToken: true,
        outputPayloadToHeader: "x-payload",
        outputClaimToHeaders: [
          { header: "x-sub", claim: "sub" },
          { header: "x-role", claim: "nested.role" },
        ],
      },
      { issuer: "params", jwks, fromParams: ["t"] },
      { issuer: "cookies", jwks, fromCookies: ["session"] },
    ],
  };
  const api = {
    selector: { matchLabels: { app: "api" } },
    jwtRules: [
      { issuer: "plain", jwks, audiences: ["shop"] },
      { issuer, jwksUri },
      { issuer: "late", jwksUri: `${issuer}/late/jwks` },
    ],
  };
  const unsatisfiable = { issuer: "plain", jwks: JSON.stringify({ keys: [{ kty: "oct", k: "AAAA" }] }) };
  const ofService = { targetRefs: [{ kind: "Service", name: "api" }], jwtRules: [unsatisfiable] };
  return [
    requestAuthentication("web", "shop", web),
    requestAuthentication("api", "shop", api),
    requestAuthentication("of-service", "shop", ofService),
    requestAuthentication("gate", "edge", { targetRefs: [gatewayOf], jwtRules: [{ issuer: "plain", jwks }] }),
    gateway,
  ].join("\n---\n");
}

const gateway = `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: gate, namespace: edge}
spec:
  selector: {app: gate}
  servers: [{port: {number: 8080, protocol: HTTP, name: http}, bind: "{{gate}}", hosts: [shop.example]}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: shop}
spec:
  hosts: [shop.example]
  gateways: [edge/gate]
  http:
  - match: [{headers: {"@request.auth.claims.group": {exact: beta}}}]
    route: [{destination: {host: api}}]
  - route: [{destination: {host: web}}]
`;

describe("tokens at a real Envoy", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let provider: OidcProvider;
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason !== undefined) return;
    provider = await OidcProvider.start();
    provider.answer("/late/jwks", (_, response) => void response.writeHead(503).end());
    mesh = await startMesh({
      objects: objects(provider),
      workloads: [
        { app: "web" },
        { app: "api" },
        {
          app: "gate",
          namespace: "edge",
          proxy: "router",
          labels: { "gateway.networking.k8s.io/gateway-name": "gate" },
        },
      ],
      istiodEnv: { PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: "200ms" },
    });
  }, 120_000);
  afterAll(async () => {
    await mesh?.close();
    await provider?.close();
  });

  const ask = (app: string, headers: Readonly<Record<string, string>> = {}, path = "/"): Promise<Answered> =>
    mesh.enter(app, `http://${app}:8000${path}`, { headers });
  const status = async (app: string, headers: Readonly<Record<string, string>> = {}, path = "/"): Promise<number> =>
    (await ask(app, headers, path)).status;
  const becomes = (expected: number, text: string): Promise<unknown> =>
    eventually(`api answers ${expected}`, async () => (await status("api", bearer(text))) === expected);

  it.each([
    ["valid", () => token({ iss: "plain" }), 200],
    ["expired", () => token({ iss: "plain", exp: Math.floor(Date.now() / 1000) - hour }), 401],
    ["not valid yet", () => token({ iss: "plain", nbf: Math.floor(Date.now() / 1000) + hour }), 401],
    ["of another issuer", () => token({ iss: "unknown" }), 401],
    ["for another audience", () => token({ iss: "plain", aud: "elsewhere" }), 403],
    ["signed by a forger", () => token({ iss: "plain" }, forger), 401],
    ["without a signature", () => signed({ alg: "none" }, { iss: "plain" }, () => Buffer.alloc(0)), 401],
    [
      "whose HMAC has the public key as its secret",
      () =>
        signed({ alg: "HS256" }, { iss: "plain" }, (content) =>
          createHmac("sha256", publicKey.export({ format: "pem", type: "spki" }))
            .update(content)
            .digest(),
        ),
      401,
    ],
    ["that is not a token", () => "x.y.z", 401],
  ])("a token %s is answered as it must be", async (_, of, expected) => {
    expect(await status("api", bearer(of()))).toBe(expected);
  });

  it("a request without a token passes, and of two tokens both must be valid", async () => {
    const valid = token({ iss: "plain" });
    const at = (text: string): string => `/?access_token=${text}`;
    expect([
      await status("api"),
      await status("api", bearer(valid), at(valid)),
      await status("api", bearer(valid), at(token({ iss: "plain" }, forger))),
      await status("api", bearer(token({ iss: "plain" }, forger)), at(valid)),
    ]).toEqual([200, 200, 401, 401]);
  });

  it("each location is read, and only for the rule that names it", async () => {
    const in3 = (iss: string): readonly [Readonly<Record<string, string>>, string][] => [
      [{ "x-token": `Token ${token({ iss })}` }, "/"],
      [{}, `/?t=${token({ iss })}`],
      [{ cookie: `a=b; session=${token({ iss })}` }, "/"],
    ];
    const statuses = async (iss: string): Promise<readonly number[]> =>
      Promise.all(in3(iss).map(([headers, path]) => status("web", headers, path)));
    expect([await statuses("headers"), await statuses("params"), await statuses("cookies")]).toEqual([
      [200, 401, 401],
      [401, 200, 401],
      [401, 401, 200],
    ]);
    // Without the prefix, and in the default location, there is no token.
    expect([
      await status("web", { "x-token": token({ iss: "headers" }, forger) }),
      await status("web", bearer(token({ iss: "headers" }, forger))),
    ]).toEqual([200, 200]);
  });

  it("the payload, claims and the token itself are forwarded as configured", async () => {
    const text = token({ iss: "headers", nested: { role: "boss" } });
    const { headers } = (await ask("web", { "x-token": `Token ${text}` })).seen!;
    expect(headers).toMatchObject({ "x-sub": "ann", "x-role": "boss", "x-token": `Token ${text}` });
    expect(String(headers["x-payload"]).replace(/=+$/, "")).toBe(text.split(".")[1]);
    const plain = (await ask("api", bearer(token({ iss: "plain" })))).seen!;
    expect(plain.headers).not.toHaveProperty("authorization");
  });

  it("headers that carry claims cannot be forged", async () => {
    const forged = { "x-sub": "root", "x-role": "root", "x-payload": "e30" };
    const without = (await ask("web", forged)).seen!;
    expect(Object.keys(forged).filter((name) => name in without.headers)).toEqual([]);
    const withToken = (await ask("web", { ...forged, "x-token": `Token ${token({ iss: "headers" })}` })).seen!;
    expect([withToken.headers["x-sub"], withToken.headers["x-role"]]).toEqual(["ann", undefined]);
  });

  it("a gateway that targetRefs name verifies tokens, and routes by their claims", async () => {
    const through = async (headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const { status: code, seen } = await mesh.enter("gate", "http://shop.example:8080/", { headers });
      return seen?.workload ?? code;
    };
    expect([
      await through({}),
      await through(bearer(token({ iss: "plain", group: "beta" }))),
      await through(bearer(token({ iss: "plain", group: "stable" }))),
      await through(bearer(token({ iss: "plain", group: "beta" }, forger))),
    ]).toEqual(["web", "api", "web", 401]);
  });

  it("keys that were rotated take effect, and those of before lose it", async () => {
    const before = provider.token({ sub: "ann" });
    await becomes(200, before);
    provider.rotate();
    const after = provider.token({ sub: "ann" });
    await becomes(200, after);
    expect(await status("api", bearer(before))).toBe(401);
  });

  it("keys stay while the provider is down, and tokens of an issuer that was never reached are rejected until it is", async () => {
    const known = provider.token({ sub: "ann" });
    await becomes(200, known);
    provider.answer("/jwks", (_, response) => void response.writeHead(503).end());
    await eventually("a refresh failed", () =>
      mesh.lines().some(({ msg }) => msg === "failed to fetch JWKS, keeping the last keys"),
    );
    const late = provider.token({ sub: "ann", iss: "late" });
    expect([await status("api", bearer(known)), await status("api", bearer(late))]).toEqual([200, 401]);
    provider.answer("/late/jwks");
    await becomes(200, late);
    provider.answer("/jwks");
  });

  it("every proxy accepts the configuration", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
