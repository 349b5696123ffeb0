import type { Registry } from "@istiod/service-discovery";

/** The addresses of one name. */
export interface NamedAddresses {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly registry: Registry;
  /** With the namespace, the forms in which the name may be shortened; both empty where it may not. */
  readonly shortName: string;
  readonly namespace: string;
}
