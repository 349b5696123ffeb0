import { execFileSync } from "node:child_process";
import { appendFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectorySource, type DirectorySourceOptions } from "@istiod/config-ingestion";
import { authorizationPolicies, formatProblem, rejectedAuthorizationPolicies, services } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

let directory: string;
let database: Database<unknown>;
let source: DirectorySource;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "istiod-bounds-"));
  database = new Database();
});
afterEach(async () => {
  source.stop();
  await rm(directory, { recursive: true, force: true });
});

const path = (...names: string[]): string => join(directory, ...names);

async function open(options: Partial<DirectorySourceOptions> = {}): Promise<void> {
  source = new DirectorySource({ directory, ...options });
  await source.start(() => undefined);
  await read();
}

async function read(): Promise<void> {
  const update = await source.read();
  database.commit((tx) => update.apply(tx));
}

/** Reads until the source sees what was written: the kernel reports changes of a directory with a delay. */
async function readUntil(isSeen: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !isSeen(); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await read();
  }
  expect(isSeen()).toBe(true);
}

const problems = (): readonly string[] => source.problems().map((p) => formatProblem(p).replace(`${directory}/`, ""));
const service = (name: string): string =>
  `---\napiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: shop}\nspec: {clusterIP: 10.0.0.1, ports: [{port: 80, name: http}]}\n`;
const policy = (namespace: string): string =>
  `---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata:\n  name: deny\n  namespace: ${namespace}\nspec: {action: DENY, rules: [{}]}\n`;
const filler = `# ${"x".repeat(97)}\n`.repeat(50);

describe("a file that exceeds a bound", () => {
  test("is rejected by name, and other files are read", async () => {
    await writeFile(path("big.yaml"), service("big") + filler);
    await writeFile(path("small.yaml"), service("small"));
    await open({ limits: { maxBytes: 2000 } });
    expect(database.keys(services)).toEqual(["Kubernetes/shop/small"]);
    expect(problems()).toEqual([
      `big.yaml: has ${Buffer.byteLength(service("big") + filler)} bytes, expected at most 2000 (--maxConfigFileBytes); its last good objects stay active`,
    ]);
    expect(database.keys(rejectedAuthorizationPolicies)).toEqual([]);
  });

  test("in documents is rejected as well", async () => {
    await writeFile(path("many.yaml"), Array.from({ length: 11 }, (_, i) => service(`s${i}`)).join(""));
    await open({ limits: { maxDocuments: 10 } });
    expect(database.keys(services)).toEqual([]);
    expect(problems()).toEqual([
      "many.yaml: has more than 10 documents and items of Lists (--maxConfigFileDocuments); its last good objects stay active",
    ]);
  });

  test("keeps its last good objects, and is read again when it is small", async () => {
    await writeFile(path("a.yaml"), service("one") + policy("shop"));
    await open({ limits: { maxBytes: 2000 } });
    await appendFile(path("a.yaml"), filler);
    await readUntil(() => problems().length > 0);
    expect(database.keys(services)).toEqual(["Kubernetes/shop/one"]);
    expect(database.keys(authorizationPolicies)).toEqual(["shop/deny"]);
    expect(database.keys(rejectedAuthorizationPolicies)).toEqual([]);
    await writeFile(path("a.yaml"), service("two"));
    await readUntil(() => database.keys(services).join() === "Kubernetes/shop/two");
    expect(database.keys(authorizationPolicies)).toEqual([]);
  });

  test("fails closed for the namespaces of the policies that it appears to hold, and not for the mesh", async () => {
    await writeFile(path("big.yaml"), service("big") + policy("shop") + filler.repeat(200) + policy("pay"));
    await writeFile(path("small.yaml"), policy("other"));
    await open({ limits: { maxBytes: 2000 } });
    expect([...database.keys(rejectedAuthorizationPolicies)].sort()).toEqual(["pay/deny", "shop/deny"]);
    expect(database.keys(authorizationPolicies)).toEqual(["other/deny"]);
  });

  test("does not take memory for a line without end", async () => {
    await writeFile(path("zeros.yaml"), Buffer.alloc(8 * 1024 * 1024));
    await open({ limits: { maxBytes: 2000 } });
    expect(problems()).toHaveLength(1);
  });
});

const documents = 3000;
const ofDocuments = Array.from({ length: documents }, (_, i) => service(`s${i}`)).join("");
/** Longer than what is parsed in one piece. */
const ofList = `apiVersion: v1\nkind: List\nitems:\n${ofDocuments
  .replaceAll("---\napiVersion", `  # ${"x".repeat(1500)}\n- apiVersion`)
  .replaceAll(/^(kind|metadata|spec):/gm, "  $1:")}`;

test.each([
  ["documents", ofDocuments],
  ["a List", ofList],
])("the event loop stays free while a large file of %s is read", async (_, text) => {
  await writeFile(path("large.yaml"), text);
  let isReading = true;
  const cpu = (): number => process.cpuUsage().user / 1000;
  const start = cpu();
  let previous = start;
  let longest = 0;
  const turn = (): void => {
    longest = Math.max(longest, cpu() - previous);
    previous = cpu();
    if (isReading) setTimeout(turn, 0);
  };
  setTimeout(turn, 0);
  await open();
  isReading = false;
  turn();
  expect(problems()).toEqual([]);
  expect(database.keys(services)).toHaveLength(documents);
  // In relation to the whole, because the machine may be busy: a slice is 25 ms of parsing.
  expect(longest).toBeLessThan((cpu() - start) / 3);
});

test("a List with more items than documents are allowed is rejected", async () => {
  await writeFile(path("list.yaml"), ofList);
  await open({ limits: { maxDocuments: documents - 1 } });
  expect(database.keys(services)).toEqual([]);
  expect(problems()).toEqual([
    `list.yaml: has more than ${documents - 1} documents and items of Lists (--maxConfigFileDocuments); its last good objects stay active`,
  ]);
});

test("a document that is too long, or too long for anchors, is rejected alone", async () => {
  const long = (size: number, extra = ""): string =>
    `---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\ndata:${extra}\n  a: ${"x".repeat(size)}\n`;
  await writeFile(path("a.yaml"), long(5 * 1024 * 1024) + service("a"));
  await writeFile(path("b.yaml"), long(600 * 1024, " &anchor") + service("b"));
  const rule = "\n  b: '!self.value.contains(\"&x\") ? [a:] : *y'";
  await writeFile(path("c.yaml"), long(600 * 1024, rule) + service("c"));
  await writeFile(path("d.yaml"), long(600 * 1024, "\n  b: !custom x") + service("d"));
  await open();
  expect([...database.keys(services)].sort()).toEqual(["a", "b", "c", "d"].map((name) => `Kubernetes/shop/${name}`));
  expect([...problems()].sort()).toEqual([
    expect.stringMatching(/^a\.yaml:1: is not YAML: it has \d+ characters, expected at most 4194304 in one document$/),
    expect.stringMatching(/^b\.yaml:1: is not YAML: it is malformed or has anchors or tags/),
    expect.stringMatching(/^d\.yaml:1: is not YAML: it is malformed or has anchors or tags/),
  ]);
});

describe("entries that cannot hold configuration", () => {
  test("are named, and nothing waits for them", async () => {
    execFileSync("mkfifo", [path("fifo.yaml")]);
    await symlink("/dev/zero", path("zero.yaml"));
    await symlink("loop.yaml", path("loop.yaml"));
    await symlink(".", path("self"));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path("socket.yaml"), resolve));
    await writeFile(path("a.yaml"), service("a"));
    await open();
    await new Promise((resolve) => server.close(resolve));
    expect(database.keys(services)).toEqual(["Kubernetes/shop/a"]);
    expect([...problems()].sort()).toEqual([
      "fifo.yaml: is a FIFO, expected a file",
      "loop.yaml: is a loop of symbolic links",
      "socket.yaml: is a socket, expected a file",
      "zero.yaml: is a device, expected a file",
    ]);
  });

  test("such as directories that are nested too deeply do not keep others from being read", async () => {
    await mkdir(path(...Array.from({ length: 40 }, () => "d")), { recursive: true });
    await writeFile(path("d", "a.yaml"), service("a"));
    await writeFile(path(...Array.from({ length: 40 }, () => "d"), "b.yaml"), service("b"));
    await open();
    expect(database.keys(services)).toEqual(["Kubernetes/shop/a"]);
    expect(problems()).toEqual([expect.stringMatching(/^(d\/)+d: is not read: there are more than 32 levels deep$/)]);
  });

  test("such as links that form exponentially many paths are bounded", async () => {
    // Each directory has three links to the next: 3^20 paths.
    for (let i = 0; i < 20; i++) {
      await mkdir(path(`d${i}`));
      if (i > 0) for (const link of ["a", "b", "c"]) await symlink(path(`d${i}`), path(`d${i - 1}`, link));
    }
    await writeFile(path("a.yaml"), service("a"));
    await open();
    expect(database.keys(services)).toEqual(["Kubernetes/shop/a"]);
    expect(problems().some((problem) => problem.includes("there are more than 10000 directories"))).toBe(true);
  });
});

test("a line break in the name of a file does not become a line of its own", async () => {
  await writeFile(path("a\nERROR forged.yaml"), "- [\n");
  await open();
  expect(problems()).toHaveLength(1);
  expect(problems()[0]).toMatch(/^a\\u000aERROR forged\.yaml:\d+: is not YAML/);
});

test("thousands of files are read", async () => {
  const files = 3000;
  await Promise.all(Array.from({ length: files }, (_, i) => writeFile(path(`f${i}.yaml`), service(`s${i}`))));
  await open();
  expect(database.keys(services)).toHaveLength(files);
});
