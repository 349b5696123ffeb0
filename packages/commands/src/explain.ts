import { explainProxy, type ExplainRequest, formatProxyExplanation, type ProxyExplanation } from "@istiod/explain";
import { askProxyReplica, formatSilent, httpReplicas, incompleteExit } from "@istiod/replicas";
import { proxyNamed } from "@istiod/push-context";
import { SettingsCommand } from "@istiod/settings/command";
import { type Command, Option } from "commander";
import { absentFiles } from "./absent-files.js";
import { meshFlags } from "./mesh-flags.js";
import type { OfflineMeshes } from "./offline-mesh.js";
import { istiodOption, noAnswer } from "./control-plane-flags.js";
import type { MeshFlags } from "./mesh-flags.js";

interface ExplainValues extends MeshFlags, ExplainRequest {
  readonly proxy: string;
  readonly istiod: readonly string[];
  readonly output: "text" | "json";
}

/** `istiod explain`: objects that the resources of a proxy are built from, and objects that are ignored. */
export function explainCommand(
  meshes: OfflineMeshes,
  print: (text: string) => void,
  warn: (text: string) => void = () => undefined,
  exit: (status: number) => void = () => undefined,
): Command {
  const command = new SettingsCommand("explain")
    .description(
      "Print the objects that a proxy's resources are built from, and the ignored objects with the reason. Exits with 5 if a replica does not answer.",
    )
    .requiredOption("--proxy <id>", "proxy: name.namespace of its Pod, or its node ID")
    .option(
      "--resource <name>",
      "resource to explain, such as 'outbound|80||cart.shop.svc.cluster.local' (default: all)",
    )
    .option("--type <type>", "type to explain: cds, eds, lds, rds, … (default: all)")
    .option(
      "--tries <n>",
      "maximum number of computations to find the fields that matter (default: 0; for one resource 2000, of a running istiod 200)",
    )
    .addOption(
      istiodOption(
        "ask a running istiod at its --httpAddr, such as http://127.0.0.1:8080, instead of reading --configDir; the replica that the proxy is connected to answers",
      ),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"));
  command.addSettings(meshFlags, meshes.env);
  return command.action(async (values: ExplainValues) => {
    const isOffline = values.istiod.length === 0;
    if (isOffline) for (const sentence of await absentFiles(values)) warn(`${sentence}\n`);
    const found = isOffline ? await fromFiles(values, meshes) : await fromIstiod(values, { warn, exit });
    print(values.output === "json" ? `${JSON.stringify(found, undefined, 2)}\n` : formatProxyExplanation(found));
  });
}

async function fromFiles(values: ExplainValues, { readMesh }: OfflineMeshes): Promise<ProxyExplanation> {
  const { database, problems } = await readMesh(values);
  return explainProxy(database, proxyNamed(database, values.proxy), problems, {
    ...values,
    tries: values.tries ?? (values.resource ? "2000" : "0"),
  });
}

/** Asks the replica that has the proxy; for a proxy that none has, any replica explains it by its Pod. */
async function fromIstiod(
  { istiod, proxy, resource, type, tries }: ExplainValues,
  { warn, exit }: { readonly warn: (text: string) => void; readonly exit: (status: number) => void },
): Promise<ProxyExplanation> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ proxyID: proxy, resource, type, tries }))
    if (value) parameters.set(name, value);
  const ask = httpReplicas(istiod);
  const { found, silent } = await askProxyReplica(ask, proxy, "explain", parameters, { fallback: true });
  if (found === undefined) throw noAnswer({ failures: [], silent });
  warn(formatSilent(silent));
  if (silent.length > 0) exit(incompleteExit);
  return found.answer as ProxyExplanation;
}
