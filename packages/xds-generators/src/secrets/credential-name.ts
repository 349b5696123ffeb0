/** The object that a secret's resource name refers to. */
interface CredentialReference {
  readonly source: "kubernetes" | "kubernetes-gateway" | "configmap";
  /** Undefined: the proxy's own. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/**
 * Parses `kubernetes://[namespace/]name`, `kubernetes-gateway://namespace/name` or `configmap://namespace/name`;
 * undefined for any other name, such as `invalid://`, which is never served. Source:
 * pilot/pkg/model/credentials/resource.go.
 */
export function credentialReference(resourceName: string): CredentialReference | undefined {
  const [source = "", path = ""] = splitOnce(resourceName, "://");
  const [first = "", second] = path.split("/");
  if (source === "kubernetes") {
    const [namespace, name] = second === undefined ? [undefined, first] : [first, second];
    return name === "" ? undefined : { source, namespace, name };
  }
  if (source !== "kubernetes-gateway" && source !== "configmap") return undefined;
  return first === "" || second === undefined || second === "" ? undefined : { source, namespace: first, name: second };
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
