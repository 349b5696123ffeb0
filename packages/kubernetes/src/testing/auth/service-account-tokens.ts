import {
  createPublicKey,
  createSign,
  createVerify,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from "node:crypto";
import type { Clock } from "@istiod/runtime";
import { isJsonObject, type JsonObject } from "../storage/object.js";
import type { UserInfo } from "../storage/server-state.js";
import type { Store } from "../storage/store.js";
import { authenticatedGroup } from "./authenticator.js";

/** Issuer of the tokens, and the audience of the server itself. */
export const tokenIssuer = "https://kubernetes.default.svc.cluster.local";

/** Issuer of the tokens in Secrets, which do not expire. */
const secretTokenIssuer = "kubernetes/serviceaccount";

interface BoundObject {
  readonly name: string;
  readonly uid?: string;
}

/** Objects that a token is bound to: it ends with the Pod or the Secret. */
export interface BoundObjects {
  readonly pod?: BoundObject;
  /** The node of the Pod. */
  readonly node?: BoundObject;
  readonly secret?: BoundObject;
}

export interface TokenSubject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly bound: BoundObjects;
}

/** An authenticated token. */
export interface VerifiedToken {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

const extraPrefix = "authentication.kubernetes.io/";
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Signs and verifies tokens of service accounts by a key of its own. */
export class ServiceAccountTokens {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    this.#privateKey = privateKey;
    this.#publicKey = createPublicKey(privateKey);
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * @param lifetime Seconds.
   * @returns the token, and the second at which it expires
   */
  sign({ namespace, name, uid, bound }: TokenSubject, audiences: readonly string[], lifetime: number) {
    const now = Math.floor(this.#clock.now() / 1000);
    const expires = now + lifetime;
    const token = this.#signed({
      aud: audiences,
      exp: expires,
      iat: now,
      iss: tokenIssuer,
      jti: randomUUID(),
      "kubernetes.io": { namespace, ...bound, serviceaccount: { name, uid } },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    });
    return { token, expires };
  }

  /** Returns a token for a Secret of the type service-account-token. */
  signForSecret(secret: string, { namespace, name, uid }: Omit<TokenSubject, "bound">): string {
    return this.#signed({
      iss: secretTokenIssuer,
      sub: `system:serviceaccount:${namespace}:${name}`,
      "kubernetes.io/serviceaccount/namespace": namespace,
      "kubernetes.io/serviceaccount/secret.name": secret,
      "kubernetes.io/serviceaccount/service-account.name": name,
      "kubernetes.io/serviceaccount/service-account.uid": uid,
    });
  }

  #signed(claims: JsonObject): string {
    const content = `${encode({ alg: "RS256", kid: "test" })}.${encode(claims)}`;
    return `${content}.${createSign("RSA-SHA256").update(content).sign(this.#privateKey, "base64url")}`;
  }

  /** Returns the identity of a valid token for one of the audiences. Undefined for any other token. */
  verify(token: string, audiences: readonly string[]): VerifiedToken | undefined {
    const [header = "", payload = "", signature = ""] = token.split(".");
    const verifier = createVerify("RSA-SHA256").update(`${header}.${payload}`);
    if (signature === "" || !verifier.verify(this.#publicKey, signature, "base64url")) return undefined;
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as JsonObject;
    if (claims.iss === secretTokenIssuer) return this.#verifySecretToken(token, claims, audiences);
    const now = this.#clock.now() / 1000;
    const { aud, exp, nbf } = claims;
    const accepted = Array.isArray(aud) ? aud.filter((audience: string) => audiences.includes(audience)) : [];
    if (Number(exp) <= now || Number(nbf) > now || accepted.length === 0) return undefined;
    const user = this.#userOf(claims["kubernetes.io"], String(claims.jti));
    return user === undefined ? undefined : { user, audiences: accepted };
  }

  #verifySecretToken(token: string, claims: JsonObject, audiences: readonly string[]): VerifiedToken | undefined {
    const claim = (name: string): string => String(claims[`kubernetes.io/serviceaccount/${name}`]);
    const namespace = claim("namespace");
    const data = this.#store.get("/secrets", `${namespace}/${claim("secret.name")}`)?.data;
    const stored = isJsonObject(data) ? String(data.token) : "";
    const user = this.#accountOf(namespace, claim("service-account.name"), claim("service-account.uid"));
    const isCurrent = Buffer.from(stored, "base64").toString() === token;
    return isCurrent && user !== undefined && audiences.includes(tokenIssuer)
      ? { user, audiences: [tokenIssuer] }
      : undefined;
  }

  #accountOf(namespace: string, name: string, uid: string): UserInfo | undefined {
    if (this.#store.get("/serviceaccounts", `${namespace}/${name}`)?.metadata.uid !== uid) return undefined;
    return {
      username: `system:serviceaccount:${namespace}:${name}`,
      uid,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, authenticatedGroup],
    };
  }

  #userOf(binding: unknown, id: string): UserInfo | undefined {
    if (!isJsonObject(binding) || !isJsonObject(binding.serviceaccount)) return undefined;
    const { pod, node, secret, serviceaccount } = binding;
    const namespace = String(binding.namespace);
    const exists = (resource: string, bound: unknown): boolean =>
      !isJsonObject(bound) ||
      this.#store.get(resource, `${namespace}/${String(bound.name)}`)?.metadata.uid === bound.uid;
    const user = this.#accountOf(namespace, String(serviceaccount.name), String(serviceaccount.uid));
    if (user === undefined || !exists("/pods", pod) || !exists("/secrets", secret)) return undefined;
    const extra: Record<string, readonly string[]> = { [`${extraPrefix}credential-id`]: [`JTI=${id}`] };
    for (const [kind, bound] of Object.entries({ pod, node })) {
      if (!isJsonObject(bound)) continue;
      extra[`${extraPrefix}${kind}-name`] = [String(bound.name)];
      if (bound.uid !== undefined) extra[`${extraPrefix}${kind}-uid`] = [String(bound.uid)];
    }
    return { ...user, extra };
  }

  /** Returns the document of `/.well-known/openid-configuration`. */
  discovery(url: string): object {
    return {
      issuer: tokenIssuer,
      jwks_uri: `${url}/openid/v1/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    };
  }

  /** Returns the keys of `/openid/v1/jwks`. */
  keys(): object {
    return { keys: [{ use: "sig", kid: "test", alg: "RS256", ...this.#publicKey.export({ format: "jwk" }) }] };
  }
}
