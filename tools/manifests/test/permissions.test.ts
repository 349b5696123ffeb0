import { allKinds, istioKinds, type Kind, remoteKinds } from "@istiod/config-schema";
import { analyzedTypes, permissions, type Permissions, type PolicyRule } from "@istiod/controllers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { customResourceDefinitions } from "../src/definitions/custom-resource-definitions.js";
import { readProtos } from "../src/definitions/read-protos.js";
import { helmUnavailable } from "../src/index.js";
import { Charts, pluralOf, type RenderedObject } from "./rendered-charts.js";

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
  serviceExports: "env.ENABLE_MCS_AUTO_EXPORT=true",
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

/** Reports whether a grant is among others. The Gateway API is read as a whole. */
function allows(granted: ReadonlySet<string>, grant: string): boolean {
  return granted.has(grant) || granted.has(grant.replace(/ [^.]+\./, " *."));
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
  const cluster = grants(
    ["istiod-clusterrole-istio-system", "istiod-gateway-controller-istio-system"].flatMap((role) =>
      rulesOf(objects, "ClusterRole", role),
    ),
  );
  const namespace = grants(rulesOf(objects, "Role", "istiod"));
  const hasInCluster = (grant: string): boolean => allows(cluster, grant);
  const missing = [
    ...[...grants(needed.cluster)].filter((grant) => !hasInCluster(grant)),
    ...[...grants(needed.systemNamespace ?? [])].filter((grant) => !hasInCluster(grant) && !namespace.has(grant)),
  ];
  expect(missing).toEqual([]);
});

test.for(Object.entries(optional))("the permissions of %s are granted with %s only", async ([name, value]) => {
  const needed = permissions[name as keyof typeof permissions].cluster;
  const cluster = grants(rulesOf(await charts.render("istiod"), "ClusterRole", "istiod-clusterrole-istio-system"));
  expect([...grants(needed)].filter((grant) => !cluster.has(grant))).not.toEqual([]);
  expect(value).toContain("=true");
});

const readOf = ({ kind, group }: Kind): readonly string[] =>
  ["get", "list", "watch"].map((verb) => `${verb} ${pluralOf(kind)}.${group} *`);

test.for<[string, readonly Kind[]]>([
  ["istiod-clusterrole-istio-system", allKinds],
  ["istio-reader-clusterrole-istio-system", istioKinds],
  ["istio-reader-clusterrole-istio-system", remoteKinds.filter(({ kind }) => kind !== "ServiceAccount")],
])("%s may read every kind that istiod reads with it", async ([role, kinds]) => {
  const granted = grants(rulesOf(await charts.render("istiod"), "ClusterRole", role));
  expect(kinds.flatMap(readOf).filter((grant) => !allows(granted, grant))).toEqual([]);
});

test.for([
  ["istiod", "istio-validator-istio-system"],
  ["base", "istiod-default-validator", "--set", "defaultRevision=default"],
] as const)("the webhook of chart %s validates the groups of all kinds", async ([chart, name, ...values]) => {
  const objects = await charts.render(chart, ...values);
  const found = objects.find(
    ({ kind, metadata }) => kind === "ValidatingWebhookConfiguration" && metadata.name === name,
  );
  const webhooks = found?.["webhooks"] as readonly { readonly rules: readonly { readonly apiGroups: string[] }[] }[];
  const groups = webhooks.flatMap(({ rules }) => rules.flatMap(({ apiGroups }) => apiGroups));
  expect(groups).toEqual([...new Set(istioKinds.map(({ group }) => group))].toSorted());
});

test("types with messages of the analysis in their status have the plurals of their definitions", async () => {
  const definitions = customResourceDefinitions(await readProtos());
  expect(analyzedTypes.map(({ group, plural }) => `${plural}.${group}`).toSorted()).toEqual(
    definitions.map(({ metadata }) => metadata.name),
  );
});

/** Writes apart from those of controllers, with the code that needs them. */
const otherWrites: Readonly<Record<string, readonly string[]>> = {
  "roots of the CA (packages/ca/src/roots/kubernetes-secrets.ts)": ["create secrets. *", "patch secrets. *"],
  "reviews of callers": [
    "create tokenreviews.authentication.k8s.io *",
    "create subjectaccessreviews.authorization.k8s.io *",
  ],
};

function isWrite(grant: string): boolean {
  return !/^(get|list|watch) /.test(grant);
}

test("istiod may write nothing that its code does not write", async () => {
  const objects = await charts.render("istiod", "--set", Object.values(optional).join(","));
  const needed = new Set([
    ...Object.values(permissions).flatMap((of: Permissions) => [
      ...grants(of.cluster),
      ...grants(of.systemNamespace ?? []),
    ]),
    ...Object.values(otherWrites).flat(),
  ]);
  for (const [kind, name] of [
    ["ClusterRole", "istiod-clusterrole-istio-system"],
    ["ClusterRole", "istiod-gateway-controller-istio-system"],
    ["Role", "istiod"],
    ["ClusterRole", "istio-reader-clusterrole-istio-system"],
  ] as const) {
    const granted = [...grants(rulesOf(objects, kind, name))].filter(isWrite);
    expect(
      granted.filter((grant) => !needed.has(grant)),
      name,
    ).toEqual([]);
  }
});

test("no rule has a wildcard, except for reading the Gateway API", async () => {
  const objects = await charts.render("istiod", "--set", "taint.enabled=true,global.istiod.enableAnalysis=true");
  const rules = objects.flatMap(({ kind, rules: found }) => (kind.endsWith("Role") ? (found as PolicyRule[]) : []));
  expect([...grants(rules)].filter((grant) => /(^\*|\*\.|\.\*)/.test(grant)).toSorted()).toEqual(
    ["get", "list", "watch"].flatMap((verb) =>
      ["gateway.networking.k8s.io", "gateway.networking.x-k8s.io", "inference.networking.k8s.io"].map(
        (group) => `${verb} *.${group} *`,
      ),
    ),
  );
});
