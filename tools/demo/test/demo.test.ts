import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "@istiod/envoy-binary";
import { killAll, listTree, type ProcessInfo, startInTerminal, stillRunning } from "@istiod/pilot-agent/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const start = join(root, "tools/demo/bin/start.js");
const built = ["tools/demo/dist/main.js", "apps/istiod/bundle/main.js", "apps/pilot-agent/bundle/main.js"].every(
  (file) => existsSync(join(root, file)),
);
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const envoy = await findEnvoy();
/** Not the ports of a demo that somebody runs on this machine. */
const offset = 1000 + (process.pid % 160) * 100;
const work = join(root, "build", `demo-${offset}`);
const page = `http://127.20.0.1:${8080 + offset}/productpage`;
const startup = { timeout: 60_000, interval: 50 };

interface Running {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Returns the output so far. */
  said(): string;
}

describe("the demo", () => {
  beforeEach(({ skip }) => {
    skip(process.platform !== "linux", "the demo needs Linux");
    skip(!built, "not built: npm run build");
    skip(!envoy, "no Envoy: set ENVOY_PATH, or run `npx istiod-envoy install`");
  });
  let folder: string;
  let config: string;
  let tree: ProcessInfo[] = [];
  let started: ChildProcess | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "demo-"));
    config = join(folder, "bookinfo");
  });
  beforeEach(() => cp(join(root, "samples/bookinfo"), config, { recursive: true }));
  afterEach(() => {
    killAll(started?.pid === undefined ? tree : [...tree, ...listTree(started.pid)]);
    if (started?.exitCode === null) started.kill("SIGKILL");
    tree = [];
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(work, { recursive: true, force: true });
  });

  const command = (): string[] => [
    process.execPath,
    start,
    "--no-build",
    "--port-offset",
    String(offset),
    "--config",
    config,
  ];
  const environment = (): Record<string, string> => ({ PATH: process.env["PATH"] ?? "", ENVOY_PATH: envoy ?? "" });

  async function run(line = command(), env = environment()): Promise<Running> {
    const [program = "", ...args] = line;
    const child = spawn(program, args, { env, cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    started = child;
    let said = "";
    for (const output of [child.stdout, child.stderr])
      output.setEncoding("utf8").on("data", (text: string) => (said += text));
    await expect.poll(() => said, startup).toContain("Ctrl-C ends everything");
    tree = listTree(child.pid!);
    return { pid: child.pid!, process: child, said: () => said };
  }

  /** Leaves the gateway and one workload, which start quickly. */
  async function makeSmall(): Promise<void> {
    for (const name of ["productpage", "ratings", "reviews", "traffic", "sidecars"])
      await rm(join(config, `${name}.yaml`));
    const [, details] =
      /(---\n(?:(?!---)[^])*details-v1(?:(?!---)[^])*)/.exec(
        await readFile(join(root, "samples/bookinfo/sidecars.yaml"), "utf8"),
      ) ?? [];
    await writeFile(join(config, "sidecars.yaml"), details!);
  }

  it("serves a page, tells what became of each save, logs requests, and ends with all that it started", async () => {
    const demo = await run([...command(), "--access-log"]);
    const traffic = join(config, "traffic.yaml");
    const text = await readFile(traffic, "utf8");
    const fetched = await fetch(page);
    expect(fetched.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const body = await fetched.text();
    for (const part of [
      "<h1>The Comedy of Errors</h1>",
      "William Shakespeare",
      "page served by productpage-v1",
      "called by spiffe://cluster.local/ns/istio-system/sa/ingressgateway",
    ])
      expect(body).toContain(part);
    await expect.poll(demo.said, startup).toMatch(/^reviews {5}v1 \d+ %, v2 \d+ % of the last \d+ requests$/m);
    expect(demo.said()).toContain("verified its caller as spiffe://cluster.local/ns/bookinfo/sa/bookinfo-productpage");

    await writeFile(traffic, text.replace("weight: 90", "weight: most"));
    const line = text.split("\n").findIndex((words) => words.includes("weight: 90")) + 1;
    const rejection = `${traffic}:${line}: VirtualService bookinfo/reviews: http[0].route[0].weight: is "most", expected an integer`;
    await expect
      .poll(demo.said, startup)
      .toContain(`rejected    ${rejection}\nsaved       nothing changed for proxies; the last good version`);

    await writeFile(traffic, text.replace("weight: 90", "weight: 0").replace("weight: 10", "weight: 100"));
    await expect.poll(demo.said, startup).toMatch(/^saved {7}1 of 6 proxies updated, all acknowledged after \d+ ms$/m);
    expect(demo.said()).toContain(`resolved    ${rejection}`);
    await expect.poll(demo.said, startup).toMatch(/^reviews {5}v2 100 % of the last \d+ requests$/m);
    const second = await (await fetch(page)).text();
    for (const part of ["reviews v2", "served by reviews-v2", "★★★★☆", "ratings served by ratings-v1"])
      expect(second).toContain(part);

    const saves = (): number => demo.said().split("\nsaved       nothing changed for proxies\n").length - 1;
    await writeFile(traffic, `${await readFile(traffic, "utf8")}# nothing\n`);
    await expect.poll(saves, startup).toBeGreaterThan(0);

    await fetch(page, { headers: { "user-agent": "a-reader" } });
    await expect
      .poll(demo.said, startup)
      .toMatch(/^access {6}ratings-v1 .*GET ratings:\d+\/ratings\/0 200 .*"a-reader"$/m);
    expect(demo.said()).not.toMatch(/^access .*"istiod-demo"$/m);
    await expect
      .poll(() => readFile(join(work, "logs/ingressgateway.access.log"), "utf8"), startup)
      .toMatch(/GET 127\.20\.0\.1:\d+\/productpage 200 .*"a-reader"/);

    const wrong = text.replace("subset: v2}", "subset: v9}");
    await writeFile(traffic, wrong);
    const at = wrong.split("\n").findIndex((words) => words.includes("v9")) + 1;
    const finding = `${traffic}:${at}: VirtualService bookinfo/reviews: referenced host+subset in destinationrule "reviews+v9" not found`;
    await expect.poll(demo.said, startup).toContain(`finding     ${finding}`);
    expect(demo.said()).toContain("[Error IST0101]");
    await writeFile(traffic, text);
    await expect.poll(demo.said, startup).toContain(`resolved    ${finding}`);

    const exited = new Promise((resolve) => demo.process.once("exit", resolve));
    demo.process.kill("SIGINT");
    expect(await exited).toBe(0);
    await expect.poll(() => stillRunning(tree), { timeout: 5000 }).toEqual([]);
  }, 180_000);

  it.each(["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"] as const)(
    "leaves nothing behind on %s",
    async (signal) => {
      await makeSmall();
      const demo = await run();
      // The demo, istiod, and for each of two workloads an agent and an Envoy; all but the demo have a guard.
      expect(tree).toHaveLength(1 + 2 + 2 * 4);
      const exited = new Promise((resolve) => demo.process.once("exit", (code, by) => resolve(code ?? by)));
      demo.process.kill(signal);
      expect(await exited).toBe(signal === "SIGKILL" ? "SIGKILL" : 0);
      await expect.poll(() => stillRunning(tree), { timeout: 5000 }).toEqual([]);
    },
    90_000,
  );

  it("leaves nothing behind when its terminal is closed", async ({ skip }) => {
    skip(!hasPython, "no python3, which opens the terminal");
    await makeSmall();
    const { terminal, pid } = await startInTerminal(command(), environment());
    started = terminal;
    await expect
      .poll(
        () =>
          fetch(page).then(
            () => listTree(pid).length,
            () => 0,
          ),
        startup,
      )
      .toBe(11);
    tree = listTree(pid);
    terminal.stdin?.write("close\n");
    await expect.poll(() => stillRunning(tree), { timeout: 5000 }).toEqual([]);
  }, 90_000);

  it("ends when npm, which started it, is killed", async () => {
    await makeSmall();
    const demo = await run(["sh", "-c", '"$@"; true', "npm", ...command()], {
      ...environment(),
      npm_lifecycle_event: "start",
    });
    demo.process.kill("SIGKILL");
    await expect.poll(() => stillRunning(tree), { timeout: 5000 }).toEqual([]);
  }, 90_000);

  it("says that ENVOY_PATH is wrong, and starts nothing", () => {
    const [program = "", ...args] = command();
    const { stderr, status } = spawnSync(program, args, {
      env: { ...environment(), ENVOY_PATH: "/nope/envoy" },
      encoding: "utf8",
      timeout: 20_000,
    });
    expect(stderr).toBe("ENVOY_PATH is /nope/envoy, which cannot be executed\n");
    expect(status).toBe(1);
  });
});
