/** The user of istiod in all clusters. */
export const istiodUser = "istiod";

/** Credentials in a kubeconfig. */
export type KubeconfigUser =
  | { readonly token: string }
  | { readonly "client-certificate-data": string; readonly "client-key-data": string };

/** Returns a kubeconfig as JSON, which is YAML. */
export function kubeconfigOf(server: string, user: KubeconfigUser, certificateAuthority?: string): string {
  const ca = certificateAuthority === undefined ? {} : { "certificate-authority-data": base64(certificateAuthority) };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster: { server, ...ca } }],
    users: [{ name: "user", user }],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
    "current-context": "context",
  });
}

/** Returns the URL of a server by another port. */
export function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.origin;
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");
