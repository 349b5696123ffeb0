import type { PeerIdentitySource } from "./principal.js";

/** The context in which a rule is translated. */
export interface RuleContext {
  readonly identity: PeerIdentitySource;
  /** Default namespace of service accounts. */
  readonly policyNamespace: string;
}

/** Translates the values of an attribute to terms; undefined if they cannot be expressed. */
export type Attribute<T> = { readonly httpOnly?: boolean } & (
  | { readonly each: (value: string, context: RuleContext) => T | undefined }
  /** Translates all values to one term. */
  | { readonly all: (values: readonly string[], context: RuleContext) => T | undefined }
);
