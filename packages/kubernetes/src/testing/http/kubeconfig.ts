/** Content of a kubeconfig file. */
export interface Kubeconfig {
  readonly object: object;
  /** The same as YAML, which JSON is a part of. */
  readonly yaml: string;
}

/** Returns a kubeconfig of one context. */
export function kubeconfigOf(server: string, token: string): Kubeconfig {
  const object = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server } }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin", namespace: "default" } }],
    "current-context": "test",
  };
  return { object, yaml: `${JSON.stringify(object, null, 2)}\n` };
}
