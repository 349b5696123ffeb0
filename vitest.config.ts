import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base from "./vitest.base.js";

const root = fileURLToPath(new URL(".", import.meta.url));
const tests = ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tools/*/test/**/*.test.ts"];
/** Code that changes a process for whatever runs in it later, or measures the process. */
const concernsItsProcess =
  /\bvi\.(?!fn\b|waitFor\b)|\bprocess\.(chdir|cpuUsage|exitCode|getActiveResourcesInfo|memoryUsage|on|umask)\b|\b(getHeapSnapshot|setFlagsFromString)\b/;

/**
 * Returns the test files that get a process of their own, by their code and that of the files beside them that they
 * import. All others run in a few processes after each other, so that modules are loaded and compiled once for all of
 * them instead of once for each.
 */
function isolatedFiles(): string[] {
  return ["packages", "apps", "tools"]
    .flatMap((group) => readdirSync(join(root, group)).map((project) => join(group, project, "test")))
    .filter((directory) => existsSync(join(root, directory)))
    .flatMap((directory) =>
      readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".test.ts"))
        .map((name) => join(directory, name)),
    )
    .filter((path) => [path, ...importedBeside(path)].some((each) => concernsItsProcess.test(read(each))));
}

function importedBeside(path: string): string[] {
  return [...read(path).matchAll(/from "(\.\/[^"]+)\.js"/g)].map(([, name]) => join(dirname(path), `${name}.ts`));
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Test files that run for more than a minute. */
const slow = [
  "tools/outage/test/faults.test.ts",
  "tools/attack/test/attacks.test.ts",
  "tools/outage/test/certificate-renewal.test.ts",
  "tools/attack/test/agent-attacks.test.ts",
  "tools/test/test/page-commands.test.ts",
  "tools/nodes/test/mesh.test.ts",
];
/** Test files that run for more than a minute in a process that others share. */
const slowShared = [
  "tools/e2e/test/hostile-fields.test.ts",
  "tools/test/test/examples.test.ts",
  "tools/fuzz/test/targets.test.ts",
  "tools/manifests/test/charts.test.ts",
  "tools/e2e/test/envoy-verdicts.test.ts",
  "tools/parity/test/sources.test.ts",
  "apps/istiod/test/unread-fields.test.ts",
  "tools/manifests/test/render-chart.test.ts",
  "tools/bench/test/scale.test.ts",
  "tools/nodes/test/foreign-certificates.test.ts",
  "tools/nodes/test/cluster-command.test.ts",
];
/** Test files that allow no request to fail. The heap of other files would lengthen the pauses of their process. */
const countingFailures = [
  "tools/availability/test/events.test.ts",
  "tools/e2e/test/isolation.test.ts",
  "tools/e2e/test/rotation.test.ts",
  "tools/e2e/test/route-changes.test.ts",
];
const isolated = [...new Set([...slow, ...countingFailures, ...isolatedFiles()])];

/** Starts with the files in processes of their own, and within each project with the slow ones: none is alone at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification): number =>
      (project.config.isolate ? 0 : 2) + ([...slow, ...slowShared].includes(relative(root, moduleId)) ? 0 : 1);
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** The tests of all projects in one pool of processes, as `npm test` runs them. */
export default {
  ...base,
  test: {
    ...base.test,
    // Many tests wait for other processes, so that two would leave two cores idle for half of the time.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
    projects: [
      { extends: true, test: { name: "isolated", include: isolated } },
      { extends: true, test: { name: "shared", include: tests, exclude: isolated, isolate: false } },
    ],
  },
};
