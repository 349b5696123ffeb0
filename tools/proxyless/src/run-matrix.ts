import { type Library, versionOf } from "./libraries.js";
import { ProxylessMesh } from "./proxyless-mesh.js";
import { bothVersions, destinationRule, service } from "./scenario-objects.js";
import { type Scenario, scenarios } from "./scenarios.js";

/** The outcome of one scenario with one library. */
export interface Outcome {
  readonly scenario: string;
  /** Undefined: it works, or was left out. */
  readonly problem: string | undefined;
  /** The reason for which the feature is left out for the library. */
  readonly leftOut?: string;
  /** Resources that the library rejected meanwhile. */
  readonly rejections: readonly string[];
}

/** The outcomes of one library, which is client and server. */
export interface LibraryOutcomes {
  readonly library: Library["name"];
  readonly version: string;
  readonly outcomes: readonly Outcome[];
}

/** Runs scenarios with a library, one after another, each with the same service and a client of its own. */
export async function runScenarios(
  library: Library,
  chosen: readonly Scenario[] = scenarios,
  report: (outcome: Outcome) => void = () => undefined,
): Promise<LibraryOutcomes> {
  const mesh = await ProxylessMesh.start();
  const outcomes: Outcome[] = [];
  try {
    await mesh.serve(library, { name: "v1", at: 11 });
    await mesh.serve(library, { name: "v2", at: 12 });
    for (const scenario of chosen) {
      const leftOut = scenario.without?.[library.name];
      if (leftOut !== undefined) {
        const outcome: Outcome = { scenario: scenario.name, problem: undefined, leftOut, rejections: [] };
        outcomes.push(outcome);
        report(outcome);
        continue;
      }
      for (const file of ["routes", "strict", "policy"]) await mesh.write(file, "");
      await mesh.write("service", service(mesh, bothVersions));
      await mesh.write("rule", destinationRule());
      const outcome = await runScenario(mesh, library, scenario);
      outcomes.push(outcome);
      report(outcome);
    }
  } finally {
    await mesh.close();
  }
  return { library: library.name, version: await versionOf(library), outcomes };
}

async function runScenario(mesh: ProxylessMesh, library: Library, { name, run }: Scenario): Promise<Outcome> {
  const before = mesh.rejections.length;
  const channel = await mesh.client(library);
  let problem: string | undefined;
  try {
    await run({ mesh, library, channel });
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  if (channel.hasExited) problem = `the client ended: ${problem ?? ""}`;
  await channel.close();
  return { scenario: name, problem, rejections: mesh.rejections.slice(before) };
}
