import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { flags, type LogFlags, openLog, serveControlZ, startDiscovery } from "@istiod/istiod";
import { clusterType } from "@istiod/xds-server";
import { SettingsCommand } from "@istiod/settings/command";
import { afterEach, expect, it, vi } from "vitest";
import { client, flagValues, folder } from "./serving.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A log into a file, and what is in it. */
async function logged(set: Partial<LogFlags> = {}) {
  const file = join(await folder({}), "log");
  const opened = openLog({ ...flagValues({}), log_target: [file], ...set });
  const text = async (): Promise<string> => readFile(file, "utf8");
  const lines = async (): Promise<Record<string, unknown>[]> =>
    (await text())
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...opened, file, text, lines };
}

it("JSON lines have Istio's fields and formats", async () => {
  const { log, lines } = await logged();
  log.child({ scope: "ads" }).warn({ proxy: "web" }, "rejected");
  log.info("plain");
  const [scoped, plain] = await lines();
  expect(scoped).toEqual({
    level: "warn",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
    scope: "ads",
    proxy: "web",
    msg: "rejected",
  });
  expect(plain).toEqual({ level: "info", time: expect.any(String) as string, msg: "plain" });
});

it("plain lines have Istio's columns, with line breaks escaped", async () => {
  const { log, text } = await logged({ log_as_json: false });
  log
    .child({ scope: "delta" })
    .warn({ proxy: "web", resources: ["80"] }, "rejected by the proxy: no\n2026-01-01T00:00:00Z\tinfo\tforged");
  expect((await text()).split("\n")).toEqual([
    expect.stringMatching(
      /^\S+\twarn\tdelta\trejected by the proxy: no\\n2026-01-01T00:00:00Z\\tinfo\\tforged\tproxy=web resources=\["80"\]$/,
    ),
    "",
  ]);
});

it.each([
  ["info", "ads:debug -, ads:info x"],
  ["default:info", "ads:debug -, ads:info x, default:info x"],
  ["ads:debug,default:error", "ads:debug x, delta:debug -, delta:info x, default:warn -, default:error x"],
  ["all:error,ads:info", "ads:info x, delta:warn -"],
  ["ads:debug,all:none", "ads:error -, default:error -"],
  ["unknown:debug", "default:debug -, default:info x"],
])("writes of each scope what --log_output_level %s says", async (value, expected) => {
  const { log, lines } = await logged({ log_output_level: value });
  for (const each of expected.split(", ")) {
    const [, scope = "", level = "", there] = /^(\w+):(\w+) (.)$/.exec(each) ?? [];
    const before = (await lines()).length;
    const logger = scope === "default" ? log : log.child({ scope });
    logger[level as "info"]("a line");
    expect(`${each.slice(0, -1)}${(await lines()).length > before ? "x" : "-"}`).toBe(`${scope}:${level} ${there}`);
  }
});

it("adds callers and stack traces to the selected scopes", async () => {
  const { log, lines } = await logged({ log_caller: "ads", log_stacktrace_level: "delta:warn" });
  log.child({ scope: "ads" }).info("one");
  log.child({ scope: "delta" }).warn({ proxy: "web" }, "two");
  log.child({ scope: "delta" }).info("three");
  log.info("four");
  const [one, two, three, four] = await lines();
  expect(one?.["caller"]).toMatch(/^test\/logs\.test\.ts:\d+$/);
  expect(one).not.toHaveProperty("stack");
  expect(two?.["stack"]).toMatch(/^[^\n]*logs\.test\.ts:\d+/);
  expect(two).toMatchObject({ proxy: "web", msg: "two" });
  for (const line of [three, four]) expect(Object.keys(line ?? {})).not.toEqual(expect.arrayContaining(["stack"]));
  expect(four).not.toHaveProperty("caller");
});

it("writes to several targets, and names one that cannot be opened", async () => {
  const other = join(await folder({}), "other");
  const first = await logged();
  openLog({ ...flagValues({}), log_target: [first.file, other] }).log.info("to both");
  expect(await readFile(other, "utf8")).toBe(await first.text());
  expect(() => openLog({ ...flagValues({}), log_target: [join(other, "no")] })).toThrow("--log_target");
  expect(() => openLog({ ...flagValues({}), log_output_level: "ads:loud" })).toThrow(
    "--log_output_level ads:loud: expected",
  );
});

it("accepts the flags that Istio's chart sets", () => {
  const command = new SettingsCommand().addSettings(flags, {}).tolerateUnknownFlags();
  expect(
    command
      .parse(["--log_output_level=default:info", "--log_as_json", "--log_target", "a", "--log_target", "b"], {
        from: "user",
      })
      .opts(),
  ).toMatchObject({ log_output_level: "default:info", log_as_json: true, log_target: ["a", "b"] });
  const again = new SettingsCommand().addSettings(flags, {});
  expect(again.parse(["--log_as_json=false"], { from: "user" }).opts()).toMatchObject({
    log_as_json: false,
    log_target: ["stdout"],
  });
});

it("changes log levels at runtime, as istioctl admin log does", async () => {
  const root = await folder({ "config/a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}" });
  const { log, scopes, lines } = await logged();
  const server = await serveControlZ({ address: "localhost", port: 0 }, scopes);
  ends.push(() => server.close());
  const at = `http://localhost:${(server.address() as AddressInfo).port}/scopej`;
  const istiod = await startDiscovery(
    flagValues({ configDir: join(root, "config") }),
    { PILOT_DEBOUNCE_AFTER: "10ms" },
    log,
    "0.1.0",
  );
  ends.push(() => istiod.close());
  const web = client(
    istiod,
    "delta",
    create(NodeSchema, { id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local", metadata: { NAMESPACE: "shop" } }),
  );
  web.subscribe(clusterType);
  await web.accept(clusterType);
  expect(await lines()).toContainEqual(expect.objectContaining({ level: "info", scope: "delta", msg: "connected" }));
  expect((await lines()).map(({ msg }) => msg)).not.toContain("xds push");

  const all = (await (await fetch(at)).json()) as { name: string }[];
  expect(all.map(({ name }) => name)).toEqual([
    "ads",
    "analysis",
    "debug",
    "default",
    "delta",
    "model",
    "pkica",
    "push",
    "serverca",
    "trustBundle",
    "validation",
  ]);
  expect(all[0]).toEqual({
    name: "ads",
    description: expect.any(String) as string,
    output_level: "info",
    stack_trace_level: "none",
    log_callers: false,
  });
  expect(
    (
      await fetch(`${at}/delta`, {
        method: "PUT",
        body: JSON.stringify({ name: "delta", output_level: "debug", log_callers: true }),
      })
    ).status,
  ).toBe(202);
  expect(await (await fetch(`${at}/delta`)).json()).toMatchObject({
    name: "delta",
    output_level: "debug",
    stack_trace_level: "none",
    log_callers: true,
  });
  await writeFile(
    join(root, "config/b.yaml"),
    "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.1.0.1, ports: [{name: http, port: 80}]}}",
  );
  await web.accept(clusterType);
  await vi.waitFor(async () =>
    expect(await lines()).toContainEqual(
      expect.objectContaining({
        level: "debug",
        scope: "delta",
        msg: "xds push",
        type: "CDS",
        cause: ["Service/shop/cart"],
        caller: expect.any(String) as string,
      }),
    ),
  );

  const answers = await Promise.all([
    fetch(`${at}/none`),
    fetch(`${at}/none`, { method: "PUT", body: "{}" }),
    fetch(`${at}/ads`, { method: "PUT", body: "no" }),
    fetch(`${at}/ads`, { method: "DELETE" }),
    fetch(at.replace("scopej", "envj")),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 405, 404]);
});
