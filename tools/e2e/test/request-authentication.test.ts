import { generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const forger = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const issuer = "https://issuer.example.com";

function token(key: typeof privateKey, header: object = { alg: "RS256" }): Readonly<Record<string, string>> {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${part(header)}.${part({ iss: issuer, sub: "ann" })}`;
  return { authorization: `Bearer ${content}.${sign("sha256", Buffer.from(content), key).toString("base64url")}` };
}

const authentication = (app: string, rule: object): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name: app, namespace: "shop" },
    spec: { selector: { matchLabels: { app } }, jwtRules: [{ issuer, ...rule }] },
  });
const requirePrincipal = (app: string): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: app, namespace: "shop" },
    spec: { selector: { matchLabels: { app } }, rules: [{ from: [{ source: { requestPrincipals: ["*"] } }] }] },
  });
const documents = (...objects: readonly string[]): string => objects.join("\n---\n");

const inline = { jwks: JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] }) };
const byUri = { jwksUri: "https://keys.example.com/jwks.json" };

describe("RequestAuthentication", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason !== undefined) return;
    mesh = await startMesh({
      objects: documents(
        authentication("inline", inline),
        authentication("uri", byUri),
        authentication("issuer", {}),
        authentication("guarded", byUri),
        requirePrincipal("guarded"),
      ),
      workloads: [{ app: "client" }, { app: "inline" }, { app: "uri" }, { app: "issuer" }, { app: "guarded" }],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  const status = async (app: string, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
    (await mesh.call("client", `http://${app}:8000/`, { headers })).status;

  /** Envoy acknowledges a listener before its workers use it. */
  const becomes = (app: string, expected: number, headers?: Readonly<Record<string, string>>): Promise<unknown> =>
    eventually(`${app} answers ${expected}`, async () => (await status(app, headers)) === expected);

  it("with inline keys accepts their tokens and no others", async () => {
    expect([
      await status("inline"),
      await status("inline", token(privateKey)),
      await status("inline", token(forger)),
    ]).toEqual([200, 200, 401]);
  });

  it.each(["uri", "issuer"])(
    "without keys (%s) rejects every token, and lets requests without one through",
    async (app) => {
      expect([
        await status(app),
        await status(app, token(privateKey)),
        await status(app, token(forger)),
        await status(app, token(forger, { alg: "none" })),
      ]).toEqual([200, 401, 401, 401]);
    },
  );

  it("without keys leaves nobody who could be the principal that an AuthorizationPolicy requires", async () => {
    expect([await status("guarded"), await status("guarded", token(forger))]).toEqual([403, 401]);
  });

  it("whose keys are no longer given rejects the tokens that they verified", async () => {
    const others = [
      authentication("uri", byUri),
      authentication("issuer", {}),
      authentication("guarded", byUri),
      requirePrincipal("guarded"),
    ];
    await mesh.apply("objects", documents(authentication("inline", byUri), ...others));
    await becomes("inline", 401, token(privateKey));
    expect(await status("inline")).toBe(200);
    await mesh.apply("objects", documents(authentication("inline", inline), ...others));
    await becomes("inline", 200, token(privateKey));
  });

  it.each([
    ["broken", '{"keys":'],
    ["empty", '{"keys":[]}'],
    ["unusable", '{"keys":[{"kty":"RSA","e":"AQAB","n":"x"}]}'],
  ])("with %s keys closes the workloads that it selects until it is gone", async (_, jwks) => {
    await mesh.apply(
      "bad",
      JSON.stringify({
        apiVersion: "security.istio.io/v1",
        kind: "RequestAuthentication",
        metadata: { name: "bad", namespace: "istio-system" },
        spec: { jwtRules: [{ issuer: "another", jwks }] },
      }),
    );
    expect(
      mesh
        .lines()
        .some(
          ({ level, msg }) =>
            level === "error" && msg.includes("RequestAuthentication istio-system/bad: jwtRules[0].jwks: "),
        ),
    ).toBe(true);
    await becomes("uri", 401);
    await expect.poll(() => status("inline", token(privateKey)), { timeout: 20_000 }).toBe(401);
    await mesh.apply("bad", "");
    await becomes("uri", 200);
    await mesh.apply("more", requirePrincipal("uri"));
    await becomes("uri", 403);
    await expect.poll(() => status("inline", token(privateKey)), { timeout: 20_000 }).toBe(200);
    await mesh.apply("more", "");
    await becomes("uri", 200);
  });

  it("is accepted whole by every proxy", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
