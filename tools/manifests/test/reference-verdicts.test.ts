import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { documentsOf, parseYaml } from "@istiod/config-schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clusterUnavailable, type CustomObject, type DefinedCluster, startDefinedCluster } from "./defined-cluster.js";

const peer = fileURLToPath(new URL("../../../../shared/peer/", import.meta.url));
const reason = existsSync(peer) ? await clusterUnavailable() : "../shared/peer is not there";
let cluster: DefinedCluster;

beforeAll(async () => {
  if (reason === undefined) cluster = await startDefinedCluster();
}, 120_000);
afterAll(() => cluster?.stop());

describe.each(["validation-crds", "istio-api-tests"])("%s", (folder) => {
  test("the API server accepts and rejects what the reference does", async (context) => {
    context.skip(reason !== undefined, reason);
    const different: string[] = [];
    const seen = { accepted: 0, rejected: 0 };
    for (const file of readdirSync(join(peer, folder)).filter((name) => name.endsWith(".yaml"))) {
      for (const [index, document] of [...documentsOf(readFileSync(join(peer, folder, file), "utf8"))].entries()) {
        const parsed = parseYaml(document);
        if (!("value" in parsed)) throw new Error(`${file} ${index}: ${JSON.stringify(parsed)}`);
        if (!parsed.value) continue;
        const { _err: expected, ...sent } = parsed.value as CustomObject & { readonly _err?: string };
        const rejection = await cluster.rejection(sent);
        seen[expected === undefined ? "accepted" : "rejected"]++;
        if ((rejection === undefined) !== (expected === undefined))
          different.push(`${file} ${index}: expected ${expected ?? "acceptance"}, got ${rejection ?? "acceptance"}`);
      }
    }
    expect(different).toEqual([]);
    expect(seen.accepted).toBeGreaterThan(30);
    expect(seen.rejected).toBeGreaterThan(50);
  }, 120_000);
});
