import { statusCommand } from "@istiod/commands";
import { expect, test, vi } from "vitest";
import { folder, serve } from "./serving.js";
import { offlineMeshes } from "../src/offline-mesh.js";

const until = { timeout: 30_000, interval: 20 };
const reason = 'belongs to revision "canary" (label istio.io/rev), and this istiod is revision "stable"';

const route = (name: string, revision: string): string => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: shop, labels: {istio.io/rev: ${revision}}}
spec: {hosts: [${name}], http: [{route: [{destination: {host: ${name}}}]}]}
---
`;

test(
  "objects of another revision are counted in the log, and named by status and analyze",
  { timeout: 60_000 },
  async () => {
    const directory = await folder({
      "mesh/mesh.yaml": route("one", "canary") + route("two", "canary") + route("own", "stable"),
    });
    const istiod = await serve({ configDir: `${directory}/mesh` }, { REVISION: "stable" });
    const logged = () => istiod.lines.filter(({ msg }) => msg.includes("does not read the object"));
    await vi.waitFor(() => expect(logged()).toHaveLength(1), until);
    expect(logged()[0]).toMatchObject({
      code: "MESH0054",
      count: 2,
      object: "VirtualService shop/one",
      msg: `${reason}, which does not read the object`,
    });
    let out = "";
    let exit = -1;
    await statusCommand(offlineMeshes({}), {
      print: (text) => (out += text),
      warn: () => undefined,
      exit: (status) => (exit = status),
    }).parseAsync(["VirtualService/shop/two", "--wait", "--istiod", istiod.http], { from: "user" });
    expect([out, exit]).toEqual([`VirtualService/shop/two: has no effect: it ${reason}\n`, 4]);
    const analysis: unknown = await (await fetch(`${istiod.http}/debug/analyze`)).json();
    expect(JSON.stringify(analysis).match(/MESH0054/g)).toHaveLength(2);
  },
);
