import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MeshDiff, ProxyExplanation } from "@istiod/explain";
import { describe, expect, test } from "vitest";
import { diffCommand, explainCommand } from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";
import { client, folder, serve } from "./serving.js";

const cart = "cart.shop.svc.cluster.local";

const mesh = (timeout: string): string => `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web, security.istio.io/tlsMode: istio}}
spec: {serviceAccountName: web, containers: [{name: app}]}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop, creationTimestamp: "2024-01-01T00:00:00Z"}
spec: {hosts: [${cart}], http: [{timeout: ${timeout}, route: [{destination: {host: ${cart}}}]}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: late, namespace: shop, creationTimestamp: "2024-01-02T00:00:00Z"}
spec: {hosts: [${cart}], http: [{route: [{destination: {host: ${cart}}}]}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: wrong, namespace: shop}
spec: {hsot: cart}
`;

const meshFlags = ["--meshConfig", "", "--networksConfig", ""];

async function explained(...args: string[]): Promise<string> {
  let out = "";
  const command = explainCommand(offlineMeshes({}), (text) => (out += text)).exitOverride();
  await command.parseAsync([...meshFlags, ...args], { from: "user" });
  return out;
}

async function compared(
  ...args: string[]
): Promise<{ readonly out: string; readonly warnings: string; readonly status: number }> {
  const result = { out: "", warnings: "", status: -1 };
  const output = {
    print: (text: string) => (result.out += text),
    warn: (text: string) => (result.warnings += text),
    exit: (status: 0 | 1) => (result.status = status),
  };
  await diffCommand(offlineMeshes({}), {
    ...output,
    print: (t) => void output.print(t),
    warn: (t) => void output.warn(t),
    exit: (s) => void output.exit(s),
  })
    .exitOverride()
    .parseAsync([...meshFlags, ...args], { from: "user" });
  return result;
}

describe("istiod explain", () => {
  test("prints the objects that a resource of a directory is built from, ignored objects, and rejected objects", async () => {
    const configDir = await folder({ "mesh.yaml": mesh("3s") });
    const text = await explained("--configDir", configDir, "--proxy", "web.shop", "--resource", "80", "--type", "rds");
    expect(text).toMatch(/^rds 80 {2}\(version /);
    expect(text).toMatch(/VirtualService +shop\/cart +.*spec\.http\[0\]\.timeout/);
    expect(text).toContain(
      `VirtualService shop/late is ignored for ${cart}:80: VirtualService shop/cart has the same host and takes precedence`,
    );
    expect(text).toMatch(/rejected objects\n .*mesh\.yaml:\d+: DestinationRule shop\/wrong: /);
  });

  test("prints the same explanation for a running istiod, from /debug/explain", async () => {
    const configDir = await folder({ "mesh.yaml": mesh("3s") });
    const istiod = await serve({ configDir });
    const node = "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local";
    const proxy = client(istiod, "delta", node);
    const type = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
    proxy.subscribe(type, ["80"]);
    await proxy.accept(type);
    const args = ["--resource", "80", "--type", "rds", "-o", "json"];
    const asked = JSON.parse(
      await explained("--istiod", istiod.http, "--proxy", "web.shop", ...args),
    ) as ProxyExplanation;
    expect(asked).toMatchObject({ proxy: node, connected: true });
    expect(
      asked.resources[0]?.objects.find(({ kind, name }) => kind === "VirtualService" && name === "cart")?.effect
        ?.fields,
    ).toContain("spec.http[0].timeout");
    const offline = JSON.parse(await explained("--configDir", configDir, "--proxy", node, ...args)) as ProxyExplanation;
    expect(offline.resources[0]?.ignored).toEqual(asked.resources[0]?.ignored);
    await expect(explained("--istiod", istiod.http, "--proxy", "nobody.shop")).rejects.toThrow(
      /nobody\.shop is not connected .* there is no Pod "nobody\.shop"/,
    );
    await expect(explained("--istiod", istiod.http, "--proxy", "web.shop", "--type", "xyz")).rejects.toThrow(
      /type xyz: expected one of cds, eds/,
    );
  });

  test("explains a proxy that is not connected to a running istiod by its Pod", async () => {
    const configDir = await folder({ "mesh.yaml": mesh("3s") });
    const istiod = await serve({ configDir });
    const args = ["--proxy", "web.shop", "--resource", "80", "--type", "rds", "-o", "json"];
    const asked = JSON.parse(await explained("--istiod", istiod.http, ...args)) as ProxyExplanation;
    expect(asked).toMatchObject({ connected: false });
    expect(asked).toEqual(JSON.parse(await explained("--configDir", configDir, ...args)));
  });

  test("reports invalid flags", async () => {
    const configDir = await folder({ "mesh.yaml": mesh("3s") });
    await expect(explained("--configDir", configDir, "--proxy", "nobody.shop")).rejects.toThrow(
      /there is no Pod "nobody.shop"/,
    );
    await expect(explained("--proxy", "web.shop")).rejects.toThrow(/there is nothing to read: give --configDir/);
  });
});

describe("istiod explain of a resource that the proxy does not have", () => {
  const none = "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local has no resource";

  test.each([
    [["--resource", "nonsense"], `${none} "nonsense"`],
    [["--resource", "nonsense", "--type", "eds", "-o", "json"], `${none} "nonsense" of type eds`],
    [["--resource", "cart", "--type", "cds"], `${none} "cart" of type cds; did you mean cds outbound|80||${cart}?`],
    [
      ["--resource", `outbound|80||crat.shop.svc.cluster.local`, "-o", "json"],
      `${none} "outbound|80||crat.shop.svc.cluster.local"; did you mean cds outbound|80||${cart}?`,
    ],
  ])("fails with a sentence and prints nothing: %j", async (args, message) => {
    const configDir = await folder({ "mesh.yaml": mesh("3s") });
    const output: string[] = [];
    const command = explainCommand(offlineMeshes({}), (text) => output.push(text)).exitOverride();
    const run = command.parseAsync([...meshFlags, "--configDir", configDir, "--proxy", "web.shop", ...args], {
      from: "user",
    });
    await expect(run).rejects.toThrow(new Error(message));
    expect(output).toEqual([]);
  });

  test("fails with the same message for a running istiod", async () => {
    const istiod = await serve({ configDir: await folder({ "mesh.yaml": mesh("3s") }) });
    const args = ["--istiod", istiod.http, "--proxy", "web.shop", "--resource", "cart", "--type", "cds", "-o", "json"];
    await expect(explained(...args)).rejects.toThrow(
      new Error(`${none} "cart" of type cds; did you mean cds outbound|80||${cart}?`),
    );
  });
});

describe("istiod diff", () => {
  test("exits with 0 without differences, and with 1 and the changed fields otherwise", async () => {
    const before = await folder({ "mesh.yaml": mesh("3s") });
    const same = await folder({ "other.yaml": `# the same\n${mesh("3s")}` });
    const after = await folder({ "mesh.yaml": mesh("5s") });
    expect(await compared("--before", before, "--after", same)).toMatchObject({
      status: 0,
      out: "0 of 1 proxies would change\n",
    });
    const { status, out, warnings } = await compared("--before", before, "--after", after);
    expect(status).toBe(1);
    expect(out).toContain("1 of 1 proxies would change");
    expect(out).toMatch(/rds 80: changed for web\.shop\n {2}~ \/virtualHosts\/.*timeout: "3s" -> "5s"/);
    expect(warnings).toContain("DestinationRule shop/wrong");
  });

  test("accepts proxies by flags and from a file and a second mesh configuration, and prints JSON", async () => {
    const before = await folder({ "mesh.yaml": mesh("3s") });
    const files = await folder({
      "proxies.txt": "# those that matter\nsidecar~10.9.0.1~vm.shop~shop.svc.cluster.local\n",
    });
    await writeFile(join(files, "mesh.yaml"), "connectTimeout: 2s\n");
    const args = [
      "--before",
      before,
      "--after",
      before,
      "--proxy",
      "web.shop",
      "--proxies",
      join(files, "proxies.txt"),
      "-o",
      "json",
    ];
    expect(await compared(...args)).toMatchObject({ status: 0 });
    const { status, out } = await compared(...args, "--afterMeshConfig", join(files, "mesh.yaml"));
    const changes = JSON.parse(out) as MeshDiff;
    expect(status).toBe(1);
    expect(changes.changed).toHaveLength(2);
    expect(changes.resources.find(({ name }) => name === `outbound|80||${cart}`)?.differences).toEqual([
      { path: "/connectTimeout", kind: "different", expected: "10s", actual: "2s" },
    ]);
  });

  test("names the unreadable directory", async () => {
    await expect(compared("--before", "/nowhere", "--after", "/nowhere")).rejects.toThrow(
      /\/nowhere .*expected a directory/,
    );
  });
});
