import { permissions, type PolicyRule } from "@istiod/controllers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { helmUnavailable } from "../src/index.js";
import { Charts, type RenderedObject } from "./rendered-charts.js";

const unavailable = await helmUnavailable();
let charts: Charts;

beforeAll(async () => {
  if (unavailable === undefined) charts = await Charts.copy();
}, 60_000);
afterAll(() => charts?.remove());
beforeEach((context) => context.skip(unavailable !== undefined, unavailable));

/** The values with which each optional controller of istiod gets its permissions. */
const optional: Readonly<Record<string, string>> = {
  analysisStatus: "global.istiod.enableAnalysis=true",
  nodeUntaint: "taint.enabled=true",
  clusterTrustBundles: "env.ENABLE_CLUSTER_TRUST_BUNDLE_API=true",
};

/** Returns what rules allow, one line for each verb, resource and group. */
function grants(rules: readonly PolicyRule[]): ReadonlySet<string> {
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = ["*"] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) => verbs.map((verb) => `${verb} ${resource}.${group} ${name}`)),
        ),
      ),
    ),
  );
}

function rulesOf(objects: readonly RenderedObject[], kind: string, name: string): readonly PolicyRule[] {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found["rules"] as readonly PolicyRule[];
}

test.for(Object.keys(permissions))("istiod may do what its controllers need: %s", async (name) => {
  const needed: { readonly cluster: readonly PolicyRule[]; readonly systemNamespace?: readonly PolicyRule[] } =
    permissions[name as keyof typeof permissions];
  const value = optional[name];
  const objects = await charts.render("istiod", ...(value === undefined ? [] : ["--set", value]));
  const cluster = grants(rulesOf(objects, "ClusterRole", "istiod-clusterrole-istio-system"));
  const namespace = grants(rulesOf(objects, "Role", "istiod"));
  const missing = [
    ...[...grants(needed.cluster)].filter((grant) => !cluster.has(grant)),
    ...[...grants(needed.systemNamespace ?? [])].filter((grant) => !cluster.has(grant) && !namespace.has(grant)),
  ];
  expect(missing).toEqual([]);
});

test.for(Object.entries(optional))("the permissions of %s are granted with %s only", async ([name, value]) => {
  const needed = permissions[name as keyof typeof permissions].cluster;
  const cluster = grants(rulesOf(await charts.render("istiod"), "ClusterRole", "istiod-clusterrole-istio-system"));
  expect([...grants(needed)].filter((grant) => !cluster.has(grant))).not.toEqual([]);
  expect(value).toContain("=true");
});

test("no rule has a wildcard, except for reading the Gateway API", async () => {
  const objects = await charts.render("istiod", "--set", "taint.enabled=true,global.istiod.enableAnalysis=true");
  const rules = objects.flatMap(({ kind, rules: found }) => (kind.endsWith("Role") ? (found as PolicyRule[]) : []));
  expect([...grants(rules)].filter((grant) => /(^\*|\*\.|\.\*)/.test(grant)).toSorted()).toEqual(
    ["get", "list", "watch"].map((verb) => `${verb} *.gateway.networking.k8s.io *`),
  );
});
