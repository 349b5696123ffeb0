import { spawn, spawnSync } from "node:child_process";
import { createServer, type Server } from "node:net";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { partsBuilt, PROJECTS } from "../bin/build.js";
import { whyNotWritable } from "../bin/checkout.js";
import { openLogFile } from "../src/log-file.js";
import { readOptions, usage } from "../src/options.js";
import { choosePorts, portsAt, shiftPorts } from "../src/ports.js";
import { serveConfig } from "../src/served-config.js";

/** An offset that no other test of this machine is likely to use. */
const offset = 1000 + (process.pid % 160) * 100;

describe("the command line", () => {
  it("is read", () => {
    expect(readOptions([])).toEqual({ portOffset: 0, accessLog: false, config: undefined });
    expect(readOptions(["--port-offset", "auto", "--access-log", "--config", "mesh"])).toEqual({
      portOffset: "auto",
      accessLog: true,
      config: "mesh",
    });
    expect(readOptions(["--help"])).toBeUndefined();
    for (const flag of ["--port-offset N", "--access-log", "--config DIR"]) expect(usage()).toContain(flag);
  });

  it.each(["-1", "1e3", "50446", "x"])("does not accept the port offset %s", (text) => {
    expect(() => readOptions([`--port-offset=${text}`])).toThrow(
      `--port-offset: "${text}" must be between 0 and 50445, or auto`,
    );
  });

  it("does not accept flags that it does not have", () => {
    expect(() => readOptions(["--port", "1"])).toThrow("--port");
  });
});

describe("the build", () => {
  it("counts the parts that are built, of all", () => {
    const header =
      "\n NX   Running targets build, bundle for 3 projects and 37 tasks they depend on:\n\n- @istiod/demo\n\n";
    expect(partsBuilt("")).toBeUndefined();
    expect(partsBuilt(header)).toBeUndefined();
    const lines = [
      "> nx run @istiod/settings:build  [local cache]",
      "> @istiod/settings@0.1.0 build",
      "> nx run @istiod/jwks:build",
    ];
    expect(partsBuilt(`${header}${lines.join("\n\n")}`)).toBe("2 of 42 parts");
  });

  it("has the targets that the projects declare", async () => {
    for (const [project, targets] of Object.entries(PROJECTS)) {
      const group = project === "@istiod/demo" ? "tools" : "apps";
      const file = new URL(`../../../${group}/${project.replace("@istiod/", "")}/package.json`, import.meta.url);
      const { nx } = JSON.parse(await readFile(file, "utf8")) as { nx: { targets?: object } };
      expect(targets, project).toEqual(nx.targets && "bundle" in nx.targets ? ["build", "bundle"] : ["build"]);
    }
  });
});

describe("a checkout of another user", () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "checkout-"))));
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.for(["node_modules", ".nx", "packages/settings/dist"])(
    "is named with its owner if %s cannot be written",
    async (unwritable, { skip }) => {
      skip(process.getuid?.() !== 0, "needs root, which changes the owner");
      await chmod(folder, 0o777);
      await mkdir(join(folder, unwritable), { recursive: true });
      await chown(join(folder, unwritable), 12_345, 12_345);
      // As an unprivileged user: root may write everything.
      const program = `process.setgroups([]); process.setgid(12346); process.setuid(12346);
        const { whyNotWritable } = await import(${JSON.stringify(new URL("../bin/checkout.js", import.meta.url).href)});
        console.log(whyNotWritable(${JSON.stringify(folder)}));`;
      const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
      expect(stdout.trim()).toBe(
        `${join(folder, unwritable)} belongs to another user (uid 12345), and is not writable: clone the repository as the user who runs it, or run: sudo chown -R "$(id -u)" ${folder}`,
      );
    },
  );

  it("is no obstacle if everything can be written", () => {
    expect(whyNotWritable(folder)).toBeUndefined();
  });
});

describe("ports", () => {
  const servers: Server[] = [];
  afterEach(() => servers.splice(0).forEach((server) => server.close()));
  const take = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      servers.push(createServer().once("error", reject).listen(port, "127.0.0.1", resolve));
    });

  it("that are taken are named with their owner and an offset that is free", async () => {
    const port = portsAt(offset).http;
    const holder = spawn(
      process.execPath,
      ["-e", `require("node:net").createServer().listen(${port}, "127.0.0.1", () => console.log("up"))`],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    try {
      await new Promise((resolve) => holder.stdout.once("data", resolve));
      const choice = choosePorts(offset, []);
      await expect(choice).rejects.toThrow(
        new RegExp(
          `^port ${port} on 127\\.0\\.0\\.1 is taken by pid ${holder.pid} \\(.*\\); end it, or choose other ports: npm start -- --port-offset \\d+$`,
        ),
      );
      const free = Number(/--port-offset (\d+)/.exec(await choice.then(() => "", String))?.[1]);
      expect((await choosePorts(free, [])).http).toBe(8080 + free);
    } finally {
      holder.kill("SIGKILL");
    }
  });

  it("are chosen by the demo where it may", async () => {
    const { offset: first } = await choosePorts("auto", []);
    await take(portsAt(first).xds);
    expect((await choosePorts("auto", [])).offset).toBeGreaterThan(first);
  });

  it("are shifted in the sample, whose other numbers and lines stay", () => {
    const text = "port: {number: 8080}\ndefaultEndpoint: 0.0.0.0:9081\nweight: 90 # 9080s, 19080, 1.9080\nport: 9080";
    expect(shiftPorts(text, 100)).toBe(
      "port: {number: 8180}\ndefaultEndpoint: 0.0.0.0:9181\nweight: 90 # 9080s, 19080, 1.9080\nport: 9180",
    );
  });
});

describe("what istiod reads", () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "demo-"))));
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("is a copy with other ports that follows the user's files, and paths are the user's", async () => {
    const [config, copy] = [await mkdtemp(join(folder, "config-")), join(folder, "copy")];
    await writeFile(join(config, "a.yaml"), "port: 9080\n");
    await writeFile(join(config, "b.yaml"), "port: 8080\n");
    const served = await serveConfig(config, 100, copy);
    expect(served.directory).toBe(copy);
    expect(await readFile(join(copy, "a.yaml"), "utf8")).toBe("port: 9180\n");
    await writeFile(join(config, "a.yaml"), "port: 9081\n");
    await writeFile(join(config, ".swp.yaml"), "port: 9081\n");
    await rm(join(config, "b.yaml"));
    await served.refresh();
    expect(await readdir(copy)).toEqual(["a.yaml"]);
    expect(await readFile(join(copy, "a.yaml"), "utf8")).toBe("port: 9181\n");
    expect(served.translate(`${copy}/a.yaml:1: x`)).toBe(`${config}/a.yaml:1: x`);
  });

  it("is the user's directory itself at the usual ports", async () => {
    expect((await serveConfig(folder, 0, join(folder, "copy"))).directory).toBe(folder);
  });

  it("is logged to files that do not grow without end", async () => {
    const path = join(folder, "x.log");
    const file = openLogFile(path, 10);
    for (const line of ["one\n", "two\n", "three\n", "four\n"]) file.write(line);
    file.end();
    await finished(file);
    expect(await readFile(`${path}.1`, "utf8")).toBe("three\n");
    expect(await readFile(path, "utf8")).toBe("four\n");
  });
});
