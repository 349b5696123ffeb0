import type { Access, RuleContext } from "./access.js";

/** An attribute of a connection or request that values of a policy are compared with. */
export interface Attribute {
  /** True if only HTTP chains know it. */
  readonly httpOnly?: boolean;
  /** True if the values are one term: all of them are dropped where the attribute is not known. */
  readonly joined?: boolean;
  /** Expands the values before comparison, such as principals by trust domain aliases. */
  readonly expand?: (values: readonly string[], context: RuleContext) => readonly string[];
  /** Returns the reason why a value cannot be compared; undefined if it can. */
  readonly unusable?: (value: string, access: Access) => string | undefined;
  /** The attribute's value, for people. */
  readonly actual: (access: Access) => string;
  readonly matches: (value: string, access: Access, context: RuleContext) => boolean;
}
