import type { Registry } from "@istiod/service-discovery";

/** The addresses of a name. */
export interface NamedAddresses {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly registry: Registry;
  /** With the namespace, the basis of short names; both empty if there are none. */
  readonly shortName: string;
  readonly namespace: string;
}
