/** The object that a secret's resource name refers to. */
export interface CredentialReference {
  readonly source: "kubernetes" | "kubernetes-gateway" | "configmap";
  /** Undefined: the proxy's own. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Suffix of the name of a secret that has only the root certificates. */
export const rootCertificatesSuffix = "-cacert";

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

const externalPrefix = "sds://";

/**
 * Parses a `credentialName`. Names without a source are those of Kubernetes Secrets; external ones are too, if the
 * proxy has no server for them. Source: `ToResourceName` in pilot/pkg/model/credentials/resource.go.
 */
export function declaredCredential(credentialName: string): CredentialReference | undefined {
  const name = credentialName.startsWith(externalPrefix) ? credentialName.slice(externalPrefix.length) : credentialName;
  return credentialReference(name.includes("://") ? name : `kubernetes://${name}`);
}

/**
 * Returns the credential that client TLS settings name by `caCertCredentialName`. The suffix has the roots of a Secret
 * read, of its own or of the Secret without it; a ConfigMap has nothing else.
 */
export function rootsCredentialName(name: string): string {
  const isRoots = name === "" || name.startsWith("configmap://") || name.endsWith(rootCertificatesSuffix);
  return isRoots ? name : name + rootCertificatesSuffix;
}

/**
 * Returns the credential that server TLS settings name by `caCertCredentialName`, as for clients. An external SDS
 * server knows it by the name itself.
 */
export function serverRootsCredentialName(name: string): string {
  return name.startsWith(externalPrefix) ? name : rootsCredentialName(name);
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}
