import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answeringModule, eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";
import { archiveOf, startImageRegistry } from "@istiod/pilot-agent/testing";
import { Closers } from "@istiod/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();

const extension = (kind: string, name: string, app: string, spec: object): string =>
  `---\n${JSON.stringify({
    apiVersion: "extensions.istio.io/v1alpha1",
    kind,
    metadata: { name, namespace: "shop" },
    spec: { selector: { matchLabels: { app } }, match: [{ mode: "SERVER" }], ...spec },
  })}\n`;

const lua = (code: string): object => ({ lua: { inlineCode: code } });

describe("an extension", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const closers = new Closers();
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    const directory = mkdtempSync(join(tmpdir(), "extensions-"));
    closers.defer(() => rmSync(directory, { recursive: true }));
    const local = join(directory, "answer.wasm");
    writeFileSync(local, answeringModule(418, "from a file"));
    const module = answeringModule(418, "by http");
    const server = createServer((_, response) => response.end(module)).listen(0, "127.0.0.1");
    closers.defer(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/answer.wasm`;
    const registry = await startImageRegistry();
    closers.defer(() => registry.close());
    registry.push("team/answer", "v1", {
      type: "application/vnd.oci.image.manifest.v1+json",
      layer: {
        type: "application/vnd.oci.image.layer.v1.tar+gzip",
        content: archiveOf("plugin.wasm", answeringModule(418, "from an image")),
      },
    });
    const sha256 = createHash("sha256").update(module).digest("hex");
    const objects =
      extension("TrafficExtension", "header", "lua", {
        ...lua(`function envoy_on_response(handle) handle:headers():add("x-lua", "yes") end`),
      }) +
      extension("TrafficExtension", "other-port", "lua", {
        match: [{ ports: [{ number: 9 }] }],
        ...lua(`function envoy_on_response(handle) handle:headers():add("x-other", "yes") end`),
      }) +
      extension("WasmPlugin", "file", "file", { url: `file://${local}` }) +
      extension("WasmPlugin", "http", "http", { url, sha256 }) +
      extension("TrafficExtension", "image", "image", { wasm: { url: `${registry.host}/team/answer:v1` } }) +
      extension("WasmPlugin", "closed", "closed", { url, sha256: "0".repeat(64) }) +
      extension("WasmPlugin", "open", "open", { url, sha256: "0".repeat(64), failStrategy: "FAIL_OPEN" });
    const apps = ["client", "plain", "lua", "file", "http", "image", "closed", "open"];
    mesh = await startMesh({ objects, workloads: apps.map((app) => ({ app })) });
    closers.defer(() => mesh.close());
  }, 90_000);
  afterAll(() => closers.close());

  it("in Lua changes the responses of the selected workload at the matched ports", async () => {
    const { status, headers } = await mesh.call("client", "http://lua:8000/");
    expect([status, headers["x-lua"], headers["x-other"]]).toEqual([200, "yes", undefined]);
    expect((await mesh.call("client", "http://plain:8000/")).headers["x-lua"]).toBeUndefined();
  });

  it.each([
    ["file", "from a file"],
    ["http", "by http"],
    ["image", "from an image"],
  ])("in Wasm answers the requests of the selected workload: %s", async (app, body) => {
    const { status, text } = await mesh.call("client", `http://${app}:8000/`);
    expect([status, text]).toEqual([418, body]);
    expect(mesh.seen(app)).toEqual([]);
    expect(mesh.refusals()).toEqual([]);
  });

  it("whose module cannot be fetched denies requests, unless it fails open", async () => {
    expect((await mesh.call("client", "http://closed:8000/")).status).toBe(403);
    expect((await mesh.call("client", "http://open:8000/")).status).toBe(200);
  });
});

describe("a script that fails when it is loaded, which only Envoy can know", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  const adding = (value: string, before = ""): object =>
    lua(`${before} function envoy_on_response(handle) handle:headers():add("x-lua", "${value}") end`);
  const extensions = (failing: object, innocent: object): string =>
    extension("TrafficExtension", "failing", "web", failing) +
    extension("TrafficExtension", "innocent", "other", innocent);
  const headerOf = async (app: string): Promise<unknown> =>
    (await mesh.call("client", `http://${app}:8000/`)).headers["x-lua"];
  const becomes = (app: string, value: string): Promise<unknown> =>
    eventually(`${app} answers ${value}`, async () => (await headerOf(app)) === value);
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      objects: extensions(adding("1"), adding("1")),
      workloads: ["client", "web", "other"].map((app) => ({ app })),
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  it("leaves the selected workloads their last good listeners, and the changes of others are live", async () => {
    await becomes("web", "1");
    await mesh.write("objects", extensions(adding("2", `error("no")`), adding("2")));
    await becomes("other", "2");
    await eventually("web rejects the script", () => mesh.refusals().some((line) => line.includes(": no")));
    expect(await headerOf("web")).toBe("1");
    expect(mesh.refusals().filter((line) => !line.includes("virtualInbound") && !line.includes("_8000"))).toEqual([]);

    // Other changes of the same workload are live, too.
    const fault = {
      http: [
        {
          fault: { abort: { httpStatus: 418, percentage: { value: 100 } } },
          route: [{ destination: { host: "web" } }],
        },
      ],
    };
    const virtualService = `---\n${JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "web", namespace: "shop" },
      spec: { hosts: ["web"], ...fault },
    })}\n`;
    await mesh.write("routes", virtualService);
    await eventually("web has the route", async () => (await mesh.call("web", "http://web:8000/")).status === 418);

    await mesh.write("routes", "");
    await mesh.write("objects", extensions(adding("3"), adding("3")));
    await becomes("web", "3");
  }, 120_000);
});
