import { checkInjectCommand, injectorCommand } from "@istiod/commands";
import { describe, expect, test } from "vitest";
import { clusterWith, sharedCluster } from "./cluster-run.js";
import { namespace, pod, revision } from "./injection-mesh.js";

const deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}}
`;
const mesh = [
  namespace("istio-system"),
  "---",
  revision("v1"),
  "---",
  revision("v2"),
  namespace("shop", "{istio.io/rev: v1}"),
  namespace("off", "{istio.io/rev: v1, istio-injection: disabled}"),
  namespace("bank"),
  deployment,
  pod("web-1", "shop", { labels: "{app: web}", revision: "v1" }),
  pod("quiet.pod", "shop", { labels: '{sidecar.istio.io/inject: "false"}' }),
  pod("vault", "bank"),
].join("");

describe("istiod check-inject", () => {
  const cluster = sharedCluster(mesh);
  const table = async (...args: string[]): Promise<string[][]> => {
    const { out } = await cluster().run(checkInjectCommand, ...args);
    return out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
  };

  test("prints why each webhook injects a Pod or not", async () => {
    expect(await table("web-1.shop")).toEqual([
      ["WEBHOOK", "REVISION", "INJECTED", "REASON"],
      ["istio-sidecar-injector-v1", "v1", "✔", "Namespace label istio.io/rev=v1 matches"],
      ["istio-sidecar-injector-v2", "v2", "✘", "No matching namespace labels (istio.io/rev=v2) or pod labels ()"],
    ]);
  });

  test.each([
    [
      ["deployment/web", "-n", "shop"],
      ["✔", "Namespace label istio.io/rev=v1 matches"],
    ],
    [
      ["quiet.pod", "-n", "shop"],
      ["✘", "Pod has sidecar.istio.io/inject=false label, preventing injection"],
    ],
    [
      ["-n", "off", "-l", "app=a"],
      ["✘", "Namespace has istio-injection=disabled label, preventing injection"],
    ],
    [["vault.bank"], ["✘", "No matching namespace labels (istio.io/rev=v1) or pod labels ()"]],
    [
      ["-n", "shop", "-l", "sidecar.istio.io/inject=true,app=a"],
      ["✔", "Namespace label istio.io/rev=v1 matches, and pod label sidecar.istio.io/inject=true matches"],
    ],
  ])("of %j", async (args, verdict) => {
    expect((await table(...args))[1]?.slice(2)).toEqual(verdict);
  });

  test.each([
    [[], "expected a Pod, a workload, or --labels"],
    [["web-1", "-l", "a=b"], "expected a Pod, a workload, or --labels"],
    [["nobody.shop"], "nobody.shop: there is no such Pod in namespace default"],
    [["cronjob/web"], "cronjob/web: expected pod, service, deployment"],
    [["-l", "app"], "--labels app: expected labels such as app=web,version=v1"],
    [["-l", "app=a", "-n", "nowhere"], "namespace nowhere: does not exist"],
  ])("rejects %j", async (args, message) => {
    await expect(table(...args)).rejects.toThrow(message);
  });

  test("names two webhooks that both inject, and their absence", async () => {
    const twice = `${mesh}---\n${revision("v1").split("\n---\n")[0]?.replace("injector-v1", "injector-copy")}`;
    expect((await (await clusterWith(twice)).run(checkInjectCommand, "web-1.shop")).out).toMatch(
      /\nERROR: multiple webhooks will inject, which can lead to errors\n$/,
    );
    const none = namespace("shop") + pod("web", "shop");
    expect((await (await clusterWith(none)).run(checkInjectCommand, "web.shop")).out).toBe(
      "ERROR: no Istio injection hooks present.\n",
    );
  });
});

describe("istiod injector list", () => {
  const values = (tag: string): string =>
    JSON.stringify({ global: { hub: "docker.io/istio", tag, proxy: { image: "proxyv2" } } });
  const configMap = `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio-sidecar-injector-v1, namespace: istio-system, labels: {istio.io/rev: v1}}
data: {values: '${values("1.30.0")}'}
`;

  test("prints namespaces with their Pods, and webhooks with their images", async () => {
    const more = [
      namespace("lost", "{istio.io/rev: v9}"),
      pod("old", "shop", { revision: "v0" }),
      pod("new", "shop", { revision: "v1" }),
      configMap,
    ].join("");
    const { run } = await clusterWith(mesh + more);
    expect((await run(injectorCommand, "list")).out).toBe(`NAMESPACE ISTIO-REVISION POD-REVISIONS
bank                     <non-Istio>: 1
lost      MISSING/v9     <no pods>
off       MISSING/v1     <no pods>
shop      v1             <non-Istio>: 1 (injection disabled: 1)
shop      v1             v0: 1 NEEDS RESTART: 1
shop      v1             v1: 2

NAMESPACES          INJECTOR-HOOK             ISTIO-REVISION SIDECAR-IMAGE
shop                istio-sidecar-injector-v1 v1             docker.io/istio/proxyv2:1.30.0
DOES NOT AUTOINJECT istio-sidecar-injector-v2 v2             
`);
    const one = (await run(injectorCommand, "list", "-n", "lost")).out;
    expect(one.split("\n")[1]).toBe("lost      MISSING/v9     <no pods>");
    await expect(run(injectorCommand, "list", "-n", "nowhere")).rejects.toThrow("namespace nowhere: does not exist");
  });
});
