/** Fields of an object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns a document with a line for each field. */
export const documentOf = (object: Fields): string => `${JSON.stringify(object, undefined, 1)}\n---\n`;

/**
 * Returns a function that writes objects named `a` in the namespace `shop`, unless the metadata says otherwise.
 *
 * @param versions `apiVersion` by kind. Default: networking.istio.io/v1
 */
export function objectWriter(versions: Readonly<Record<string, string>>) {
  return (kind: string, spec: Fields, metadata: Fields = {}): string =>
    documentOf({
      apiVersion: versions[kind] ?? "networking.istio.io/v1",
      kind,
      metadata: { name: "a", namespace: "shop", ...metadata },
      spec,
    });
}
