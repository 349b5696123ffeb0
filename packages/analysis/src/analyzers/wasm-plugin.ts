import { configCluster, secrets, wasmPluginKind, type WasmPluginObject, wasmPlugins } from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../analyzer.js";

/** Type of Secrets with registry credentials. */
const dockerConfigType = "kubernetes.io/dockerconfigjson";

/** Analyzers of WasmPlugins. */
export const wasmPluginAnalyzers: readonly Analyzer[] = [
  {
    name: "wasmplugin.PullSecretAnalyzer",
    description: "Checks that the pull secrets of WasmPlugins exist and have registry credentials",
    codes: ["IST0101"],
    rules: [rule(wasmPluginKind, wasmPlugins, checkPullSecret)],
  },
];

function checkPullSecret({ namespace, spec }: WasmPluginObject, { q, report }: AnalysisContext): void {
  const { imagePullSecret: name } = spec;
  if (name === "") return;
  const secret = q.read(secrets, `${configCluster(q)}/${namespace}/${name}`);
  const type = secret?.spec.type;
  if (type === dockerConfigType) return;
  const fault =
    type === undefined ? "not found" : `has no registry credentials: its type is ${type}, expected ${dockerConfigType}`;
  report(
    "IST0101",
    ["spec", "imagePullSecret"],
    `referenced Secret ${namespace}/${name} ${fault}, so that a module of a private registry cannot be fetched`,
    "Warning",
  );
}
