import type { AnyObject } from "../sample/apply-objects.js";

/** The state of an applied object, as an operator must be told it. */
export type Verdict =
  /** Live on all proxies that it reaches, or accepted for the effect that it has elsewhere: exit status 0. */
  | "live"
  /** Denied by the webhook at `kubectl apply`. */
  | "denied"
  /** Rejected by proxies or a source: exit status 3. */
  | "rejected"
  /** Accepted without an effect, or with an error: exit status 4. */
  | "ineffective"
  /** A replica does not answer: exit status 5. */
  | "incomplete";

/** An object to apply to Bookinfo, with the verdict that is right. */
export interface VerdictCase {
  readonly name: string;
  readonly object: AnyObject;
  readonly verdict: Verdict;
  /** Part of the output of `istiod status`, or of the denial. */
  readonly words: string;
}

/** Namespace of all objects. */
export const NAMESPACE = "bookinfo";

/** Returns an object in the namespace of Bookinfo. Its name is the same for all, apart from the kind. */
export function object(apiVersion: string, kind: string, spec: object): AnyObject {
  return { apiVersion, kind, metadata: { name: "verdict", namespace: NAMESPACE }, ...{ spec } };
}

export const networking = (kind: string, spec: object): AnyObject => object("networking.istio.io/v1", kind, spec);
export const security = (kind: string, spec: object): AnyObject => object("security.istio.io/v1", kind, spec);
