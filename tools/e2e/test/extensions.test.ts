import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answeringModule, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();
const directory = mkdtempSync(join(tmpdir(), "extensions-"));
afterAll(() => rmSync(directory, { recursive: true }));
const module = join(directory, "answer.wasm");
writeFileSync(module, answeringModule(418, "short and stout"));

const extension = (kind: string, name: string, app: string, spec: object): string =>
  `---\n${JSON.stringify({
    apiVersion: "extensions.istio.io/v1alpha1",
    kind,
    metadata: { name, namespace: "shop" },
    spec: { selector: { matchLabels: { app } }, ...spec },
  })}\n`;

const lua = (code: string): object => ({ lua: { inlineCode: code } });
const objects =
  extension("TrafficExtension", "header", "lua", {
    match: [{ mode: "SERVER" }],
    ...lua(`function envoy_on_response(handle) handle:headers():add("x-lua", "yes") end`),
  }) +
  extension("TrafficExtension", "other-port", "lua", {
    match: [{ ports: [{ number: 9 }] }],
    ...lua(`function envoy_on_response(handle) handle:headers():add("x-other", "yes") end`),
  }) +
  extension("WasmPlugin", "answer", "wasm", { url: `file://${module}`, match: [{ mode: "SERVER" }] });

describe("an extension", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      objects,
      workloads: [{ app: "client" }, { app: "lua" }, { app: "wasm" }, { app: "plain" }],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("in Lua changes the responses of the selected workload at the matched ports", async () => {
    const { status, headers } = await mesh.call("client", "http://lua:8000/");
    expect([status, headers["x-lua"], headers["x-other"]]).toEqual([200, "yes", undefined]);
    expect((await mesh.call("client", "http://plain:8000/")).headers["x-lua"]).toBeUndefined();
  });

  it("in Wasm answers the requests of the selected workload", async () => {
    const { status, text } = await mesh.call("client", "http://wasm:8000/");
    expect([status, text]).toEqual([418, "short and stout"]);
    expect(mesh.seen("wasm")).toEqual([]);
    expect((await mesh.call("client", "http://plain:8000/")).status).toBe(200);
    expect(mesh.refusals()).toEqual([]);
  });
});
