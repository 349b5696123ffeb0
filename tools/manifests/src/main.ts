import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CHARTS, completeCharts, manifestOf } from "./complete-charts.js";
import { customResourceDefinitions } from "./definitions/custom-resource-definitions.js";
import { readProtos } from "./definitions/read-protos.js";
import { installHelm } from "./helm/install-helm.js";
import { packageCharts } from "./package-charts.js";

const USAGE = `usage: istiod-manifests generate [--charts DIRECTORY] | package [--output DIRECTORY] | definitions |
                        install-helm
  generate      write the generated files of the charts, so that Helm can install and package them
  package       write the generated files, and the packages of the charts, to build/release/charts by default
  definitions   print the CustomResourceDefinitions of Istio's kinds, for kubectl apply
  install-helm  build Helm, unless there is one, and print its path
`;

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (command === "install-helm") {
    process.stdout.write(`${await installHelm()}\n`);
    return 0;
  }
  if (command === "definitions") {
    process.stdout.write(manifestOf(customResourceDefinitions(await readProtos())));
    return 0;
  }
  if (command === "package") {
    const output = fileURLToPath(new URL("../../../build/release/charts", import.meta.url));
    const { values } = parseArgs({ args: [...args], options: { output: { type: "string", default: output } } });
    for (const file of await packageCharts(values.output)) process.stdout.write(`${file}\n`);
    return 0;
  }
  if (command !== "generate") {
    process.stderr.write(USAGE);
    return 2;
  }
  const { values } = parseArgs({ args: [...args], options: { charts: { type: "string", default: CHARTS } } });
  for (const file of await completeCharts(values.charts)) process.stdout.write(`${file}\n`);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`istiod-manifests: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
