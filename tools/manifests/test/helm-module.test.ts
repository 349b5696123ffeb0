import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { HELM_VERSION } from "../src/helm/find-helm.js";

/** Returns the versions of the modules that a go.mod requires, by path. */
async function requiredBy(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(new URL(path, import.meta.url), "utf8");
  return new Map([...text.matchAll(/^\t(\S+) (v\S+)/gm)].map(([, module = "", version = ""]) => [module, version]));
}

test("Helm is built from the libraries of the API server, which Go compiles once", async () => {
  const helm = await requiredBy("../helm/go.mod");
  const server = await requiredBy("../../cluster/server/go.mod");
  expect(helm.get("helm.sh/helm/v3")).toBe(HELM_VERSION);
  const shared = [...helm.keys()].filter((module) => server.has(module));
  expect(shared).toContain("k8s.io/client-go");
  expect(shared.map((module) => [module, helm.get(module)])).toEqual(
    shared.map((module) => [module, server.get(module)]),
  );
});
