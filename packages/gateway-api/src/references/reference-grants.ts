import { grantedReferenceKey, referenceGrantsByReference } from "@istiod/config-schema";
import { query } from "@istiod/incremental";

/** A reference from one namespace to an object of another. */
export interface CrossNamespaceReference {
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string };
  readonly to: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string };
}

/** Reports whether a ReferenceGrant in the namespace of the object permits a reference. */
export const isGranted = query("gatewayApiReferenceIsGranted", (q, { from, to }: CrossNamespaceReference): boolean => {
  const { name: _name, ...all } = to;
  return [to, all].some(
    (target) => q.read(referenceGrantsByReference, grantedReferenceKey({ from, to: target })).length > 0,
  );
});
