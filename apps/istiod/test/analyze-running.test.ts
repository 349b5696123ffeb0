import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { analyzeExits } from "@istiod/commands";
import { analyze, findings } from "@istiod/commands/testing";
import { folder, serve } from "./serving.js";

const service = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
`;
const virtualService = (host: string): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http:
  - route:
    - destination:
        host: ${host}
`;
/** A port whose name has no protocol. */
const oddService = service.replace("name: cart", "name: odd").replace("name: http", "name: web");

describe("istiod analyze of a running istiod", () => {
  test("prints the current findings after an edit, and logs new and resolved ones", async () => {
    const root = await folder({ "cart.yaml": service, "vs.yaml": virtualService("crat"), "odd.yaml": oddService });
    const istiod = await serve({ configDir: root });
    const place = `${join(root, "vs.yaml")}:10`;
    const { exit, out } = await analyze(["--istiod", istiod.http]);
    expect(out).toMatch(new RegExp(`^Error \\[IST0101\\] \\(VirtualService shop/cart ${place}\\) `));
    expect(exit).toBe(analyzeExits.found);
    expect(await findings("--istiod", istiod.http, "--analyzer", "service.PortNameAnalyzer")).toEqual([
      `IST0118 Service shop/odd ${join(root, "odd.yaml")}:5`,
    ]);
    await vi.waitFor(
      () =>
        expect(istiod.lines).toContainEqual(
          expect.objectContaining({
            level: "error",
            scope: "analysis",
            code: "IST0101",
            object: "VirtualService shop/cart",
            reference: place,
          }),
        ),
      5000,
    );

    await replace(join(root, "vs.yaml"), virtualService("cart"));
    await vi.waitFor(
      async () => expect((await analyze(["--istiod", istiod.http])).exit).toBe(analyzeExits.passed),
      5000,
    );
    await vi.waitFor(
      () =>
        expect(istiod.lines).toContainEqual(
          expect.objectContaining({
            level: "info",
            code: "IST0101",
            object: "VirtualService shop/cart",
            msg: expect.stringMatching(/^resolved: .*"crat"/) as string,
          }),
        ),
      5000,
    );

    await rm(join(root, "cart.yaml"));
    await vi.waitFor(
      async () =>
        expect(await findings("--istiod", istiod.http)).toContain(`IST0101 VirtualService shop/cart ${place}`),
      5000,
    );
    await replace(join(root, "vs.yaml"), `# moved\n${virtualService("cart")}`);
    await vi.waitFor(
      async () =>
        expect(await findings("--istiod", istiod.http)).toContain(
          `IST0101 VirtualService shop/cart ${join(root, "vs.yaml")}:11`,
        ),
      5000,
    );
  });

  test("logs a finding about several objects once, with their number", async () => {
    const route = (name: string): string =>
      JSON.stringify({
        apiVersion: "gateway.networking.k8s.io/v1alpha2",
        kind: "UDPRoute",
        metadata: { name, namespace: "shop" },
        spec: {},
      });
    const istiod = await serve({
      configDir: await folder({ "a.yaml": route("a"), "b.yaml": route("b"), "c.yaml": route("c") }),
    });
    await vi.waitFor(
      () =>
        expect(istiod.lines).toContainEqual(
          expect.objectContaining({
            level: "warn",
            scope: "analysis",
            code: "MESH0002",
            count: 3,
            object: "UDPRoute shop/a",
          }),
        ),
      5000,
    );
    expect(istiod.lines.filter((line) => "code" in line && line.code === "MESH0002")).toHaveLength(1);
  });

  test("reports rejected documents", async () => {
    const root = await folder({ "cart.yaml": service, "vs.yaml": virtualService("cart") });
    const istiod = await serve({ configDir: root });
    expect(await findings("--istiod", istiod.http)).toEqual([]);
    await replace(join(root, "vs.yaml"), `${virtualService("cart")}    timeout: soon\n`);
    await vi.waitFor(
      async () =>
        expect(await findings("--istiod", istiod.http)).toEqual([
          `IST0106 VirtualService shop/cart ${join(root, "vs.yaml")}:11`,
        ]),
      5000,
    );
  });
});

async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}
