import { query } from "@istiod/incremental";

/** A reference from one namespace to an object of another. */
export interface CrossNamespaceReference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string };
  readonly to: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string };
}

/** Reports whether a ReferenceGrant in the namespace of the object permits a reference. */
export const isGranted = query(
  "gatewayApiReferenceIsGranted",
  (_q, _reference: CrossNamespaceReference): boolean => false,
);
