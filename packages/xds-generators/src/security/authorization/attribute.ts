import type { PeerIdentitySource } from "./principal.js";

/** Where a rule is translated for. */
export interface RuleContext {
  readonly identity: PeerIdentitySource;
  /** Namespace of service accounts that name none. */
  readonly policyNamespace: string;
}

/** How the values of an attribute become terms; undefined for what cannot be said. */
export type Attribute<T> = { readonly httpOnly?: boolean } & (
  | { readonly each: (value: string, context: RuleContext) => T | undefined }
  /** All values in one term. */
  | { readonly all: (values: readonly string[], context: RuleContext) => T | undefined }
);
