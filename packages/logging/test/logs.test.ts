import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LogFlags, loggingFlags, openLog, serveControlZ } from "@istiod/logging";
import { readSettings } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { afterEach, expect, it } from "vitest";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const defaults = readSettings(loggingFlags, {});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "logging-"));
  ends.push(() => rm(made, { recursive: true }));
  return made;
}

/** Opens a log into a file. */
async function logged(set: Partial<LogFlags> = {}, descriptions = {}) {
  const file = join(await folder(), "log");
  const opened = openLog({ ...defaults, log_target: [file], ...set }, descriptions);
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
  const other = join(await folder(), "other");
  const first = await logged();
  openLog({ ...defaults, log_target: [first.file, other] }).log.info("to both");
  expect(await readFile(other, "utf8")).toBe(await first.text());
  expect(() => openLog({ ...defaults, log_target: [join(other, "no")] })).toThrow("--log_target");
  expect(() => openLog({ ...defaults, log_output_level: "ads:loud" })).toThrow("--log_output_level ads:loud: expected");
});

it("accepts the flags that Istio's chart sets", () => {
  const command = new SettingsCommand().addSettings(loggingFlags, {});
  expect(
    command
      .parse(["--log_output_level=default:info", "--log_as_json", "--log_target", "a", "--log_target", "b"], {
        from: "user",
      })
      .opts(),
  ).toMatchObject({ log_output_level: "default:info", log_as_json: true, log_target: ["a", "b"] });
  const again = new SettingsCommand().addSettings(loggingFlags, {});
  expect(again.parse(["--log_as_json=false"], { from: "user" }).opts()).toMatchObject({
    log_as_json: false,
    log_target: ["stdout"],
  });
});

it("escapes control characters of what others sent in plain lines", async () => {
  const { log, text } = await logged({ log_as_json: false });
  log.warn({ label: "a\nb" }, "first\nforged\tline \u001b[2J\u0085\u2028end");
  expect(await text()).toMatch(/\twarn\tfirst\\nforged\\tline \\u001b\[2J\\u0085\\u2028end\tlabel=a\\nb\n$/);
});

it("lists scopes with their descriptions, and changes their levels at runtime", async () => {
  const { log, scopes, lines } = await logged({}, { ads: "Streams" });
  log.child({ scope: "push" }).info("a line");
  const server = await serveControlZ({ address: "localhost", port: 0 }, scopes);
  ends.push(() => server.close());
  const at = `http://localhost:${(server.address() as AddressInfo).port}/scopej`;
  const listed = (await (await fetch(at)).json()) as { name: string; description: string }[];
  expect(listed.map(({ name, description }) => [name, description])).toEqual([
    ["ads", "Streams"],
    ["default", "Lines without a scope"],
    ["push", ""],
  ]);
  const body = JSON.stringify({ name: "push", output_level: "debug" });
  expect((await fetch(`${at}/push`, { method: "PUT", body })).status).toBe(202);
  log.child({ scope: "push" }).debug("another");
  expect((await lines()).map(({ msg }) => msg)).toEqual(["a line", "another"]);
  expect((await fetch(`${at}/none`)).status).toBe(400);
});
