import fc, { type Arbitrary } from "fast-check";
import { attachment, type MeshObject, objects, oneOf } from "./arbitraries.js";

/** A public key; nobody needs the private one. */
const keys = JSON.stringify({
  keys: [
    {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    },
  ],
});

const authorization = fc
  .tuple(
    attachment,
    fc.oneof(
      oneOf("ALLOW", "DENY").map((action) => ({ action, rules: [{ to: [{ operation: { methods: ["GET"] } }] }] })),
      oneOf("authz-http", "authz-grpc").map((name) => ({
        action: "CUSTOM",
        provider: { name },
        rules: [{ to: [{ operation: { paths: ["/private"] } }] }],
      })),
    ),
  )
  .map(([target, rule]) => ({ ...target, ...rule }));

const requestAuthentication = attachment.map((target) => ({
  ...target,
  jwtRules: [{ issuer: "issuer", jwks: keys }],
}));

/** Policies whose filters extensions are placed between, and modes of mutual TLS, which decide the inbound chains. */
export const policies: Arbitrary<readonly MeshObject[]> = fc
  .tuple(
    objects("security.istio.io/v1", "AuthorizationPolicy", authorization, 2),
    objects("security.istio.io/v1", "RequestAuthentication", requestAuthentication, 1),
    objects(
      "security.istio.io/v1",
      "PeerAuthentication",
      oneOf("STRICT", "DISABLE", "PERMISSIVE").map((mode) => ({ mtls: { mode } })),
      1,
    ),
  )
  .map((lists) => lists.flat());
