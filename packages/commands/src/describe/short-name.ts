/** Returns the name of an object, with its namespace if that is not the command's. */
export function shortName(
  { name, namespace }: { readonly name: string; readonly namespace: string },
  commandNamespace: string,
): string {
  return namespace === commandNamespace ? name : `${name}.${namespace}`;
}
