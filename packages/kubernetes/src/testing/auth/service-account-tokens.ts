import {
  createPublicKey,
  createSign,
  createVerify,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from "node:crypto";
import type { Clock } from "@istiod/settings";
import { isJsonObject, type JsonObject } from "../storage/object.js";
import type { UserInfo } from "../storage/server-state.js";
import type { Store } from "../storage/store.js";
import { authenticatedGroup } from "./authenticator.js";

/** Issuer of the tokens, and the audience of the server itself. */
export const tokenIssuer = "https://kubernetes.default.svc.cluster.local";

export interface TokenSubject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Pod that the token is bound to. */
  readonly pod?: { readonly name: string; readonly uid: string };
}

/** An authenticated token. */
export interface VerifiedToken {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

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

  /** @param lifetime Seconds. */
  sign({ namespace, name, uid, pod }: TokenSubject, audiences: readonly string[], lifetime: number): string {
    const now = Math.floor(this.#clock.now() / 1000);
    const claims = {
      aud: audiences,
      exp: now + lifetime,
      iat: now,
      iss: tokenIssuer,
      jti: randomUUID(),
      "kubernetes.io": { namespace, ...(pod !== undefined && { pod }), serviceaccount: { name, uid } },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${name}`,
    };
    const content = `${encode({ alg: "RS256", kid: "test" })}.${encode(claims)}`;
    return `${content}.${createSign("RSA-SHA256").update(content).sign(this.#privateKey, "base64url")}`;
  }

  /** Returns the identity of a valid token for one of the audiences. Undefined for any other token. */
  verify(token: string, audiences: readonly string[]): VerifiedToken | undefined {
    const [header = "", payload = "", signature = ""] = token.split(".");
    const verifier = createVerify("RSA-SHA256").update(`${header}.${payload}`);
    if (signature === "" || !verifier.verify(this.#publicKey, signature, "base64url")) return undefined;
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as JsonObject;
    const now = this.#clock.now() / 1000;
    const { aud, exp, nbf } = claims;
    const accepted = Array.isArray(aud) ? aud.filter((audience: string) => audiences.includes(audience)) : [];
    if (Number(exp) <= now || Number(nbf) > now || accepted.length === 0) return undefined;
    const user = this.#userOf(claims["kubernetes.io"], String(claims.jti));
    return user === undefined ? undefined : { user, audiences: accepted };
  }

  #userOf(binding: unknown, id: string): UserInfo | undefined {
    if (!isJsonObject(binding) || !isJsonObject(binding.serviceaccount)) return undefined;
    const { namespace, pod, serviceaccount } = binding;
    const key = `${String(namespace)}/${String(serviceaccount.name)}`;
    const account = this.#store.get("/serviceaccounts", key);
    if (account?.metadata.uid !== serviceaccount.uid) return undefined;
    const extra: Record<string, readonly string[]> = { "authentication.kubernetes.io/credential-id": [`JTI=${id}`] };
    if (isJsonObject(pod)) {
      const found = this.#store.get("/pods", `${String(namespace)}/${String(pod.name)}`);
      if (found?.metadata.uid !== pod.uid) return undefined;
      extra["authentication.kubernetes.io/pod-name"] = [String(pod.name)];
      extra["authentication.kubernetes.io/pod-uid"] = [String(pod.uid)];
    }
    return {
      username: `system:serviceaccount:${String(namespace)}:${String(serviceaccount.name)}`,
      uid: String(serviceaccount.uid),
      groups: ["system:serviceaccounts", `system:serviceaccounts:${String(namespace)}`, authenticatedGroup],
      extra,
    };
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
