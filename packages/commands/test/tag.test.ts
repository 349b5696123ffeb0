import { tagCommand } from "@istiod/commands";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { clusterWith, sharedCluster } from "./cluster-run.js";
import { namespace, revision } from "./injection-mesh.js";

const mesh = [
  namespace("istio-system"),
  "---",
  revision("v1"),
  "---",
  revision("v2"),
  namespace("shop", "{istio.io/rev: prod}"),
].join("");

/** Fields of the objects of a tag. */
interface TagObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig: object;
    readonly namespaceSelector?: object;
  }[];
  readonly spec?: object;
}

test("a tag is set, listed, moved to another revision and removed", async () => {
  const { run } = await clusterWith(mesh);
  expect((await run(tagCommand, "list")).out).toBe(
    ["TAG REVISION NAMESPACES", "    v1       ", "    v2       ", ""].join("\n"),
  );
  expect((await run(tagCommand, "set", "prod", "--revision", "v1")).out).toBe(
    `Revision tag "prod" created, referencing control plane revision "v1". To enable injection using this
revision tag, use 'kubectl label namespace <NAMESPACE> istio.io/rev=prod'
`,
  );
  const listed = async (): Promise<unknown> => JSON.parse((await run(tagCommand, "list", "-o", "json")).out);
  expect(await listed()).toEqual([
    { tag: "prod", revision: "v1", namespaces: ["shop"] },
    { tag: "", revision: "v2", namespaces: [] },
  ]);
  await expect(run(tagCommand, "set", "prod", "-r", "v2")).rejects.toThrow(
    "tag prod: exists already; --overwrite changes it",
  );
  await run(tagCommand, "set", "prod", "-r", "v2", "--overwrite");
  expect((await run(tagCommand, "list")).out).toBe(
    ["TAG  REVISION NAMESPACES", "     v1       ", "prod v2       shop", ""].join("\n"),
  );
  await expect(run(tagCommand, "remove", "prod")).rejects.toThrow(
    "tag prod: namespaces are injected by it: shop; pass --skip-confirmation to remove it anyway",
  );
  expect((await run(tagCommand, "remove", "prod", "-y")).out).toBe("Revision tag prod removed\n");
  expect(await listed()).toEqual(["v1", "v2"].map((each) => ({ tag: "", revision: each, namespaces: [] })));
  await expect(run(tagCommand, "remove", "prod")).rejects.toThrow("tag prod: there is no MutatingWebhookConfiguration");
});

test("generate prints objects that lead to the revision, and changes nothing", async () => {
  const { run, server } = await clusterWith(mesh);
  const { out } = await run(tagCommand, "generate", "prod", "--revision", "v1");
  const [injection, service, ...more] = parseAllDocuments(out).map((each) => each.toJS() as TagObject);
  expect(more).toEqual([]);
  expect(injection?.metadata).toEqual({
    name: "istio-revision-tag-prod",
    labels: { app: "sidecar-injector", "istio.io/rev": "v1", "istio.io/tag": "prod", release: "istiod" },
  });
  expect(injection?.webhooks?.map(({ name }) => name)).toEqual([
    "rev.namespace.sidecar-injector.istio.io",
    "rev.object.sidecar-injector.istio.io",
  ]);
  expect(injection?.webhooks?.[0]).toMatchObject({
    clientConfig: { caBundle: "Y2E=", service: { name: "istiod-v1", path: "/inject", port: 443 } },
    reinvocationPolicy: "Never",
    namespaceSelector: {
      matchExpressions: [
        { key: "istio.io/rev", operator: "In", values: ["prod"] },
        { key: "istio-injection", operator: "DoesNotExist" },
      ],
    },
  });
  expect(service).toMatchObject({
    kind: "Service",
    metadata: { name: "istiod-revision-tag-prod", namespace: "istio-system" },
    spec: { ports: [{ port: 15012 }], selector: { app: "istiod", "istio.io/rev": "v1" } },
  });
  expect(server.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

test("the tag default injects where istio-injection is enabled, validates, and deactivates the revision default", async () => {
  const { run, server } = await clusterWith(`${mesh}---\n${revision("default")}`);
  await run(tagCommand, "set", "default", "--revision", "v1", "--auto-inject-namespaces");
  const configuration = (kind: string, name: string) =>
    server.objects.get({ apiVersion: "admissionregistration.k8s.io/v1", kind: `${kind}WebhookConfiguration`, name });
  const tag = configuration("Mutating", "istio-revision-tag-default") as unknown as TagObject;
  expect(tag.webhooks?.map(({ name }) => name.replace(".sidecar-injector.istio.io", ""))).toEqual([
    "rev.namespace",
    "rev.object",
    "namespace",
    "object",
    "auto",
  ]);
  const validator = configuration("Validating", "istiod-default-validator");
  expect(validator).toMatchObject({
    webhooks: [{ name: "validation.istio.io", clientConfig: { service: { name: "istiod-v1" } } }],
  });
  const former = configuration("Mutating", "istio-sidecar-injector-default");
  expect(former).toMatchObject({
    webhooks: [{ namespaceSelector: { matchLabels: { "istio.io/deactivated": "never-match" } } }],
  });
});

describe("istiod tag rejects", () => {
  const cluster = sharedCluster(mesh);
  test.each([
    [
      ["set", "prod", "-r", "v3"],
      "--revision v3: there is no MutatingWebhookConfiguration with the label istio.io/rev=v3",
    ],
    [["set", "v2", "-r", "v1"], "tag v2: a revision of the control plane has this name; --overwrite allows the tag"],
    [["set", "Prod", "-r", "v1"], 'tag "Prod": must have lower-case letters'],
    [["set", "prod", "-r", "v1", "--auto-inject-namespaces"], "--auto-inject-namespaces: has no effect"],
    [["set", "prod"], "required option '-r, --revision <revision>' not specified"],
    [["list", "--context", "other"], 'there is no context "other"'],
  ])("%j", async (args, message) => {
    await expect(cluster().run(tagCommand, ...args)).rejects.toThrow(message);
  });
});

test("a tag whose webhooks overlap with others is rejected with the findings", async () => {
  const other = revision("v3")
    .split("\n---\n")[0]
    ?.replaceAll('["v3"]', '["prod"]')
    .replace("injector-v3", "injector-other");
  const { run } = await clusterWith(`${mesh}---\n${other}`);
  await expect(run(tagCommand, "set", "prod", "-r", "v1")).rejects.toThrow(
    /tag prod: pass --skip-confirmation to create it anyway:\n\[IST0139\] \(MutatingWebhookConfiguration istio-revision-tag-prod\)/,
  );
  expect((await run(tagCommand, "set", "prod", "-r", "v1", "-y")).out).toContain("created");
});
