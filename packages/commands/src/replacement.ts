/** Commands of istioctl that istiod does not have, each with what does its work. */
const replacements: Readonly<Record<string, string>> = {
  install: "Helm installs the charts: helm install istiod manifests/charts/istiod (docs/install.md)",
  manifest: "Helm prints the objects of the charts: helm template istiod manifests/charts/istiod (docs/install.md)",
  upgrade: "Helm upgrades the charts, or adds a revision next to the old one (docs/install.md)",
  uninstall: "Helm removes the charts: helm uninstall istiod -n istio-system (docs/install.md)",
  dashboard: "forward a port: kubectl port-forward -n istio-system deploy/istiod 8080 for the status page of istiod",
  waypoint: "waypoints are not supported yet",
  "ztunnel-config": "ztunnel is not supported yet",
  admin: "istioctl admin log changes the levels of a running istiod, by ControlZ on port 9876 (docs/istioctl.md)",
  options: "the flags of each command are in its --help",
  "experimental wait": "istiod status --wait KIND/NAMESPACE/NAME",
  "experimental internal-debug": "istiod request GET /debug/syncz",
  "experimental envoy-stats": "kubectl exec POD -c istio-proxy -- pilot-agent request GET /stats",
  "experimental config": "flags and KUBECONFIG; there is no file of defaults",
};

const aliases: Readonly<Record<string, string>> = {
  x: "experimental",
  exp: "experimental",
  dash: "dashboard",
  d: "dashboard",
  zc: "ztunnel-config",
  istiod: "admin",
};

const experimentalAliases: Readonly<Record<string, string>> = { debug: "internal-debug", es: "envoy-stats" };

/** Flags of every command of istioctl that have a value, which may be the next word. */
const valueFlags = new Set(["-n", "--namespace", "-i", "--istioNamespace", "-c", "--kubeconfig", "--context"]);

/**
 * Returns what to use in place of a command of istioctl that istiod does not have; undefined if it is none.
 *
 * @param words the command line without the program
 * @param commands names of istiod's commands
 */
export function replacementOf(words: readonly string[], commands: ReadonlySet<string>): string | undefined {
  const [first = "", second = ""] = words.filter(
    (word, at) => !word.startsWith("-") && !valueFlags.has(words[at - 1] ?? ""),
  );
  const name = aliases[first] ?? first;
  if (name !== "experimental") return replacements[name];
  if (commands.has(second)) return `it is a command of its own: istiod ${second}`;
  return replacements[`experimental ${experimentalAliases[second] ?? second}`];
}
