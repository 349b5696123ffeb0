import { generateKeyPairSync } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { jwksFault } from "@istiod/config-schema";
import { findEnvoy } from "@istiod/envoy-binary";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { JwtAuthenticationSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/jwt_authn/v3/config";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { unverifiableJwks } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { listenerType } from "@istiod/xds-server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type BareEnvoy, startBareEnvoy, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

function listener(n: number, inlineString: string): Resource {
  const jwt = create(JwtAuthenticationSchema, {
    providers: {
      a: {
        issuer: "a",
        jwksSourceSpecifier: { case: "localJwks", value: { specifier: { case: "inlineString", value: inlineString } } },
      },
    },
  });
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "keys",
    routeSpecifier: { case: "routeConfig", value: {} },
    httpFilters: [
      { name: "jwt", configType: { case: "typedConfig", value: anyPack(JwtAuthenticationSchema, jwt) } },
      { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } },
    ],
  });
  return resource(
    "keys",
    toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name: "keys",
        address: {
          address: {
            case: "socketAddress",
            value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: 1000 + n } },
          },
        },
        bindToPort: false,
        filterChains: [
          {
            filters: [
              {
                name: "http",
                configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) },
              },
            ],
          },
        ],
      }),
    ),
  );
}

type Key = Readonly<Record<string, unknown>>;

function publicKeys() {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const ec521 = generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey.export({ format: "jwk" });
  const secp256k1 = generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" });
  const ed25519 = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  return { rsa, ec, ec521, secp256k1, ed25519 };
}

function candidates(): readonly string[] {
  const { rsa, ec, ec521, secp256k1, ed25519 } = publicKeys();
  const bytes = (count: number): string => Buffer.alloc(count, 0xff).toString("base64url");
  const prefixed = (text = ""): string =>
    Buffer.concat([Buffer.alloc(1), Buffer.from(text, "base64url")]).toString("base64url");
  const [n = "", x = ""] = [rsa.n, ec.x];
  const single: readonly Key[] = [
    rsa,
    ec,
    ec521,
    secp256k1,
    ed25519,
    { kty: "oct", k: "AAAA" },
    { kty: 4 },
    {},
    { kty: "RSA", e: "AQAB", n: "x" },
    ...["Aw", "BQ", "AA", "", "AAEAAQ"].map((e) => ({ ...rsa, e })),
    ...[63, 64, 2048, 2049].map((count) => ({ ...rsa, n: bytes(count) })),
    ...[
      `${n}==`,
      `${n}=`,
      ` ${n}`,
      `${n.slice(0, -1)}`,
      `+${n}`,
      prefixed(n),
      Buffer.alloc(256, 0xfe).toString("base64url"),
    ].map((modulus) => ({ ...rsa, n: modulus })),
    ...["RS256", "PS512", "RSx", "R", "", "ES256", "HS256", 5].flatMap((alg) => [
      { ...rsa, alg },
      { kty: "oct", k: "AAAA", alg },
    ]),
    ...["ES256", "ES384", "ES512", "ESx", "RS256", ""].flatMap((alg) => [
      { ...ec, alg },
      { kty: "EC", x: ec.x, y: ec.y, alg },
      { kty: "EC", x: ec521.x, y: ec521.y, alg },
    ]),
    ...[prefixed(x), x.slice(0, -4), "", "!"].map((coordinate) => ({ ...ec, x: coordinate })),
    { ...ec, crv: 1 },
    { ...ec, crv: "" },
    { ...ed25519, alg: "EdDSA" },
    { ...ed25519, alg: "RS256" },
    { ...ed25519, crv: "X25519" },
    { ...ed25519, x: "AAAA" },
    { kty: "oct", k: "" },
    { kty: "oct", k: "!" },
  ];
  const valid = JSON.stringify(rsa);
  return [
    ...single.map((key) => JSON.stringify({ keys: [key] })),
    "null",
    "[]",
    "{}",
    '{"keys":',
    '{"keys":[]}',
    '{"keys":{}}',
    '{"keys":null}',
    '{"keys":[1,"a"]}',
    valid,
    `{"keys":[1,{"kty":"x"},${valid},{}]}`,
    `\n{"keys":[${valid}]}\n`,
    `{"keys":[],"keys":[${valid}]}`,
    `{"keys":[${valid}],"b":{"c":1,"c":2}}`,
    `{"a":1e999,"keys":[${valid}]}`,
    `{"a":"\\ud800","keys":[${valid}]}`,
    `{"a":${"[".repeat(120)}${"]".repeat(120)},"keys":[${valid}]}`,
  ];
}

describe("a JSON Web Key Set", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let envoy: BareEnvoy;
  beforeAll(async () => {
    if (reason === undefined) envoy = await startBareEnvoy((await findEnvoy())!);
  }, 90_000);
  afterAll(() => envoy?.close());

  it("is accepted exactly where Envoy accepts it", async () => {
    const ours: string[] = [];
    const envoys: string[] = [];
    for (const [i, text] of candidates().entries()) {
      ours.push(`${text}: ${jwksFault(text) === undefined}`);
      envoys.push(`${text}: ${(await envoy.offer(listenerType, [listener(i, text)])).length === 0}`);
    }
    expect(ours).toEqual(envoys);
    expect(envoys.filter((verdict) => verdict.endsWith(": true")).length).toBeGreaterThan(20);
  }, 120_000);

  it("that verifies nothing is accepted", async () => {
    expect(await envoy.offer(listenerType, [listener(0, unverifiableJwks)])).toEqual([]);
  });
});
