const variablesOfKeys: Readonly<Record<string, string>> = {
  cluster: "ISTIO_META_CLUSTER_ID",
  net: "ISTIO_META_NETWORK",
};

/**
 * Returns the variables of the proxy that the path of a request names: `/inject/cluster/a/net/b`, where `--slash--`
 * stands for a slash in values, or `/inject/:ENV:name=value:ENV:…`. Other keys than `cluster` and `net` are names of
 * variables, in any case. A last key without value is ignored.
 */
export function pathVariables(path: string): Readonly<Record<string, string>> {
  const rest = path.replace(/\/$/, "").split("/").slice(2).join("/");
  const variables: Record<string, string> = {};
  for (const [key, value] of rest.startsWith(":ENV:") ? assignments(rest) : segments(rest)) {
    const name = Object.hasOwn(variablesOfKeys, key) ? (variablesOfKeys[key] ?? "") : key.toUpperCase();
    if (name !== "") variables[name] = value;
  }
  return variables;
}

function assignments(rest: string): readonly (readonly [string, string])[] {
  return rest.split(":ENV:").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)] as const] : [];
  });
}

function segments(rest: string): readonly (readonly [string, string])[] {
  const parts = rest.split("/");
  return parts.flatMap((key, i) => {
    const value = parts[i + 1];
    return i % 2 === 0 && value !== undefined ? [[key, value.replaceAll("--slash--", "/")] as const] : [];
  });
}
