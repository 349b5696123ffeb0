import {
  authorizationPolicies,
  peerAuthentications,
  rejectedAuthorizationPolicies,
  rejectedPeerAuthentications,
  rejectedRequestAuthentications,
  rejectedSidecars,
} from "@istiod/config-schema";
import { Ingestion } from "@istiod/config-ingestion";
import { MemorySource } from "@istiod/config-ingestion/testing";
import { Database } from "@istiod/incremental";
import { AuthorizationPolicy_Action as Action } from "@istiod/istio-api/security/v1beta1/authorization_policy";
import { PeerAuthentication_MutualTLS_Mode as Mode } from "@istiod/istio-api/security/v1beta1/peer_authentication";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, describe, expect, test } from "vitest";

const open: Ingestion<unknown>[] = [];
afterEach(async () => {
  for (const ingestion of open.splice(0)) await ingestion.stop();
});

interface Mesh {
  readonly database: Database<unknown>;
  readonly source: MemorySource;
  edit(file: string, yaml: string | undefined): Promise<void>;
  messages(): readonly string[];
}

async function start(files: Readonly<Record<string, string>>): Promise<Mesh> {
  const database = new Database<unknown>();
  const source = new MemorySource();
  for (const [file, yaml] of Object.entries(files)) source.set(file, yaml);
  const clock = new FakeClock();
  const ingestion = new Ingestion(database, [source], { clock });
  open.push(ingestion);
  await ingestion.ready;
  return {
    database,
    source,
    async edit(file, yaml) {
      if (yaml === undefined) source.remove(file);
      else source.set(file, yaml);
      clock.advance(10_000);
      await ingestion.idle();
    },
    messages: () => ingestion.problems().map(({ file, line, message }) => `${file}:${line}: ${message}`),
  };
}

const policy = (spec: string, { kind = "AuthorizationPolicy", name = "deny", namespace = "shop" } = {}): string =>
  `apiVersion: ${kind === "Sidecar" ? "networking" : "security"}.istio.io/v1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: ${spec}\n`;

const good = policy(
  '{selector: {matchLabels: {app: cart}}, action: DENY, rules: [{to: [{operation: {ports: ["80"]}}]}]}',
);
const bad = policy("{selector: {matchLabels: {app: cart}}, action: DENYY, rules: [{}]}");
const denied = ({ database }: Mesh, key = "shop/deny") => database.read(rejectedAuthorizationPolicies, key)?.spec;

describe("a rejected AuthorizationPolicy", () => {
  test("without a good version denies everything to the workloads that it selects, and says so", async () => {
    const mesh = await start({ "a.yaml": bad });
    expect(denied(mesh)).toMatchObject({
      action: Action.DENY,
      selector: { matchLabels: { app: "cart" } },
      rules: [{ from: [], to: [], when: [] }],
    });
    expect(mesh.database.read(authorizationPolicies, "shop/deny")).toBeUndefined();
    expect(mesh.messages()).toContain(
      "a.yaml:1: is rejected and has no last good version, so it fails closed: every request and connection is denied for workloads with app=cart in namespace shop, or in the mesh if that is the root namespace",
    );
  });

  test("with a good version keeps it, and no more", async () => {
    const mesh = await start({ "a.yaml": good });
    await mesh.edit("a.yaml", bad);
    expect(denied(mesh)).toBeUndefined();
    expect(mesh.database.read(authorizationPolicies, "shop/deny")?.spec.rules).toHaveLength(1);
  });

  test("is restored at once when it is fixed, and gone when it is deleted", async () => {
    const mesh = await start({ "a.yaml": bad });
    await mesh.edit("a.yaml", good);
    expect(denied(mesh)).toBeUndefined();
    expect(mesh.database.read(authorizationPolicies, "shop/deny")).toBeDefined();
    expect(mesh.messages()).toEqual([]);
    const other = await start({ "a.yaml": bad });
    await other.edit("a.yaml", undefined);
    expect(denied(other)).toBeUndefined();
  });

  test.each([
    ["an unreadable selector", "{selector: {matchLabels: [app]}, action: DENY, rules: [{}]}"],
    ["an unknown field in the selector", "{selector: {matchLables: {app: cart}}, action: DENY, rules: [{}]}"],
    ["a misspelled selector", "{selctor: {matchLabels: {app: cart}}, action: DENY, rules: [{}]}"],
    ["a wildcard in the selector", "{selector: {matchLabels: {app: '*'}}, action: DENY, rules: [{}]}"],
    [
      "a selector beside targetRefs",
      "{selector: {matchLabels: {app: a}}, targetRefs: [{kind: Service, name: a}], action: DENY, rules: [{}]}",
    ],
    ["a spec that is not a mapping", "[]"],
    ["ALLOW", "{action: ALLOW, rules: [{nothing: {}}]}"],
    ["CUSTOM", "{action: CUSTOM, rules: [{}]}"],
  ])("with %s denies everything in its namespace", async (_, spec) => {
    const mesh = await start({ "a.yaml": policy(spec) });
    expect(denied(mesh)).toMatchObject({ action: Action.DENY, rules: [{}], targetRefs: [] });
    expect(denied(mesh)?.selector).toBeUndefined();
  });

  test.each([
    ["AUDIT", policy("{action: AUDIT, rules: [{nothing: {}}]}")],
    [
      "a dry run",
      good
        .replace("namespace: shop}", "namespace: shop, annotations: {istio.io/dry-run: 'true'}}")
        .replace('"80"', "{}"),
    ],
  ])("that would only report (%s) denies nothing", async (_, text) => {
    const mesh = await start({ "a.yaml": text });
    expect(mesh.messages()).toHaveLength(1);
    expect(mesh.database.keys(rejectedAuthorizationPolicies)).toEqual([]);
  });

  test.each([
    ["a key twice", good.replace("spec:", "spec: {}\nspec:")],
    ["a tab", good.replace("spec:", "\tspec:")],
    ["an open bracket", good.replace("]}\n", "\n")],
    [
      "JSON that is cut",
      JSON.stringify(
        { kind: "AuthorizationPolicy", metadata: { name: "deny", namespace: "shop" }, spec: {} },
        null,
        1,
      ).slice(0, -3),
    ],
    ["no apiVersion", good.replace(/apiVersion.*\n/, "")],
    ["an unusable name", good.replace("name: deny", "name: 1")],
    ["a misspelled kind", good.replace("kind: AuthorizationPolicy", "kind: AuthorizationPolcy")],
    ["another group", good.replace("security.istio.io", "networking.istio.io")],
    ["another version", good.replace("istio.io/v1", "istio.io/v2")],
    [
      "a list of which an item is broken",
      `apiVersion: v1\nkind: List\nitems:\n- ${bad.trim().replaceAll("\n", "\n  ")}\n`,
    ],
  ])("with %s closes its namespace or selection", async (_, text) => {
    const mesh = await start({ "a.yaml": text });
    expect(mesh.database.keys(rejectedAuthorizationPolicies).map((key) => key.split("/")[0])).toEqual(["shop"]);
    await mesh.edit("a.yaml", good);
    expect(mesh.database.keys(rejectedAuthorizationPolicies)).toEqual([]);
    await mesh.edit("a.yaml", text);
    expect(mesh.database.keys(rejectedAuthorizationPolicies)).toEqual([]);
    expect(mesh.database.keys(authorizationPolicies)).toEqual(["shop/deny"]);
  });

  test("does not close more than its own document", async () => {
    const mesh = await start({
      "a.yaml": `${policy("{action: DENY, rules: [{}]}", { namespace: "pay" })}---\n${bad}---\nkind: ConfigMap\ndata: {a: [}\nx: "kind: AuthorizationPolicy"\n`,
    });
    expect(mesh.database.keys(rejectedAuthorizationPolicies)).toEqual(["shop/deny"]);
    expect(mesh.database.keys(authorizationPolicies)).toEqual(["pay/deny"]);
  });

  test("that comes first does not open what a valid definition of the same object closes", async () => {
    const mesh = await start({ "a.yaml": bad, "b.yaml": policy("{action: DENY, rules: [{}]}") });
    expect(mesh.database.read(authorizationPolicies, "shop/deny")?.spec.selector).toBeUndefined();
    expect(denied(mesh)?.selector?.matchLabels).toEqual({ app: "cart" });
  });

  test("of another revision closes nothing", async () => {
    const database = new Database<unknown>();
    const source = new MemorySource({ revision: "canary" });
    source.set("a.yaml", bad.replace("namespace: shop}", "namespace: shop, labels: {istio.io/rev: stable}}"));
    source.set(
      "b.yaml",
      `${bad.replace("namespace: shop}", "namespace: shop,\n  labels: {istio.io/rev: stable}}")}x: [\n`,
    );
    const ingestion = new Ingestion(database, [source], { clock: new FakeClock() });
    open.push(ingestion);
    await ingestion.ready;
    expect(database.keys(rejectedAuthorizationPolicies)).toEqual([]);
  });
});

test("a rejected PeerAuthentication makes its selection STRICT", async () => {
  const kind = "PeerAuthentication";
  const mesh = await start({
    "a.yaml": policy("{selector: {matchLabels: {app: cart}}, mtls: {mode: STRICTT}}", { kind }),
    "b.yaml": policy("{portLevelMtls: {80: {mode: DISABLE}}}", { kind, name: "ports" }),
  });
  expect(mesh.database.read(rejectedPeerAuthentications, "shop/deny")?.spec).toMatchObject({
    selector: { matchLabels: { app: "cart" } },
    mtls: { mode: Mode.STRICT },
    portLevelMtls: {},
  });
  expect(mesh.database.read(rejectedPeerAuthentications, "shop/ports")?.spec.selector).toBeUndefined();
  expect(mesh.database.keys(peerAuthentications)).toEqual([]);
});

test("a rejected RequestAuthentication keeps its selection", async () => {
  const mesh = await start({
    "a.yaml": policy("{selector: {matchLabels: {app: cart}}, jwtRules: [{isuer: a}]}", {
      kind: "RequestAuthentication",
    }),
  });
  expect(mesh.database.read(rejectedRequestAuthentications, "shop/deny")?.spec.selector?.matchLabels).toEqual({
    app: "cart",
  });
});

test.each([
  [
    "REGISTRY_ONLY",
    "{workloadSelector: {labels: {app: cart}}, outboundTrafficPolicy: {mode: REGISTRY_ONLY}, egress: [{}]}",
    ["shop/deny"],
  ],
  ["an unknown mode", "{outboundTrafficPolicy: {mode: REGISTRY}}", ["shop/deny"]],
  ["the default mode", "{outboundTrafficPolicy: {}, egress: [{}]}", ["shop/deny"]],
  ["ALLOW_ANY", "{outboundTrafficPolicy: {mode: ALLOW_ANY}, egress: [{}]}", []],
  ["no policy", "{egress: [{}]}", []],
])("a rejected Sidecar with %s", async (_, spec, keys) => {
  const mesh = await start({ "a.yaml": policy(spec, { kind: "Sidecar" }) });
  expect(mesh.messages()).not.toEqual([]);
  expect(mesh.database.keys(rejectedSidecars)).toEqual(keys);
});
