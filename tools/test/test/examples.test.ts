import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { publishedManifests, root } from "../pack.mjs";
import { examples, examplesDirectory, Program, shownCommands } from "./examples/example.js";
import { install } from "./examples/installation.js";

interface Manifest {
  readonly name: string;
  readonly private: boolean;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifest = (example: string): Manifest =>
  JSON.parse(readFileSync(join(examplesDirectory, example, "package.json"), "utf8")) as Manifest;

const waitLimit = { timeout: 30_000, interval: 50 };
let directory: string;
const running: Program[] = [];

beforeAll(async () => {
  if (!existsSync(join(root, "packages/xds-server/dist/index.js"))) throw new Error("not built: npm run build");
  directory = await mkdtemp(join(tmpdir(), "examples-"));
  const requested = Object.assign({ "@types/node": "*" }, ...examples.map((example) => manifest(example).dependencies));
  await install(directory, requested);
  await cp(examplesDirectory, join(directory, "examples"), { recursive: true });
}, 180_000);
afterEach(async () => {
  for (const program of running.splice(0)) await program.end();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

function start(command: string, example: string, env: Readonly<Record<string, string>> = {}): Program {
  const program = new Program(command, join(directory, "examples", example), env);
  running.push(program);
  return program;
}

/** The examples that end by themselves, with their exit status. */
const exitCodes: Readonly<Record<string, number>> = {
  "analyze-directory": 1,
  "database-source": 0,
  "explain-route": 0,
  "injected-pod": 0,
  "merge-protobuf": 0,
  "spiffe-ca": 0,
  spreadsheet: 0,
  "validate-yaml": 1,
};
const servers = ["grpc-config-server", "static-control-plane"];

it("all examples are known to this test", () => {
  expect(examples.toSorted()).toEqual([...Object.keys(exitCodes), ...servers].toSorted());
});

it("all examples type-check against the packed declarations", async () => {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, "--project", "examples"], { cwd: directory });
  expect(
    await run.then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    ),
  ).toBe("");
}, 120_000);

describe.each(examples)("%s", (example) => {
  it("declares what it imports, at the packages' versions", () => {
    const { name, dependencies, ...rest } = manifest(example);
    expect(name).toBe(`example-${example}`);
    expect(rest.private).toBe(true);
    const versions = publishedManifests();
    for (const [dependency, version] of Object.entries(dependencies))
      if (dependency.startsWith("@istiod/"))
        expect([dependency, version]).toEqual([dependency, versions.get(dependency)?.version]);
    const sources = ["main.ts", ...shownCommands(example).flatMap(({ command }) => command.match(/\w+\.ts/) ?? [])];
    const imports = sources.flatMap((file) =>
      [
        ...readFileSync(join(examplesDirectory, example, file), "utf8").matchAll(
          /(?:from|import) "((?:@[^/"]+\/)?[^./"][^/"]*)/g,
        ),
      ].map(([, found = ""]) => found),
    );
    expect(imports.filter((found) => !found.startsWith("node:") && !(found in dependencies))).toEqual([]);
  });
});

describe.each(Object.entries(exitCodes))("%s", (example, exitCode) => {
  it.each(shownCommands(example))(
    "prints what its README shows for $command",
    async ({ command, output }) => {
      const program = start(command, example);
      const status = await program.exited;
      expect({ stdout: program.stdout, stderr: program.stderr, status }).toEqual({
        stdout: output,
        stderr: "",
        status: exitCode,
      });
    },
    60_000,
  );
});

it("static-control-plane serves an Envoy, and prints what its README shows", async () => {
  const [shown] = shownCommands("static-control-plane");
  const port = await freePort();
  const server = start(shown?.command ?? "", "static-control-plane", { PORT: String(port) });
  await expect.poll(() => server.stdout, waitLimit).toBe(`serving Envoys at 127.0.0.1:${port}\n`);
  const envoy = new EnvoyClient({ host: "127.0.0.1", port }, { variant: "delta", node: "envoy-1" });
  await expect.poll(() => server.stdout, waitLimit).toBe(shown?.output.replace("18000", String(port)));
  envoy.close();
}, 60_000);

it("grpc-config-server leads a gRPC client to its backend, as its README shows", async () => {
  const [serverCommand, clientCommand] = shownCommands("grpc-config-server");
  const [port, backendPort] = [await freePort(), await freePort()];
  const env = { PORT: String(port), BACKEND: `127.0.0.1:${backendPort}` };
  const placed = (text = ""): string => text.replace("18000", String(port)).replace("50051", String(backendPort));
  const server = start(serverCommand?.command ?? "", "grpc-config-server", env);
  await expect.poll(() => server.stdout, waitLimit).toBe(placed(serverCommand?.output));
  const client = start(clientCommand?.command ?? "", "grpc-config-server", env);
  const status = await client.exited;
  expect({ stdout: client.stdout, status }).toEqual({ stdout: placed(clientCommand?.output), status: 0 });
}, 60_000);

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
