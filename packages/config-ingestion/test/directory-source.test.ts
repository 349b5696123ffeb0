import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "@istiod/incremental";
import { DirectorySource, Ingestion, type DirectorySourceOptions } from "@istiod/config-ingestion";
import { allKinds, formatProblem, kubernetesKinds, serviceEntries, services } from "@istiod/config-schema";
import { type Clock } from "@istiod/runtime";
import { FakeClock } from "@istiod/runtime/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

let directory: string;
let database: Database<unknown>;
let ingestion: Ingestion<unknown>;
let source: DirectorySource;
let commits: readonly string[][];
let stopObserving: (() => void) | undefined;
let problems: string[];
let resolved: string[];

const entry = (name: string, host = `${name}.example.com`): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: shop}
spec: {hosts: [${host}], ports: [{number: 80, name: http, protocol: HTTP}], resolution: DNS}
`;

/** Ten times as fast as real time, so that a burst is over soon. */
const quickClock: Clock = {
  now: () => performance.now() * 10,
  after(delay, callback) {
    const timer = setTimeout(callback, delay / 10);
    return () => clearTimeout(timer);
  },
};

async function open(options: Partial<DirectorySourceOptions> = {}): Promise<void> {
  source = new DirectorySource({ directory, clock: quickClock, ...options });
  const changed: string[][] = [];
  commits = changed;
  stopObserving?.();
  stopObserving = database.observe({ after: (commit) => changed.push(commit.changed.map((c) => c.key).sort()) });
  ingestion = new Ingestion(database, [source], {
    debounceAfter: 300,
    clock: quickClock,
    onProblems: (found) => void problems.push(...found.map(formatProblem)),
    onResolved: (found) => void resolved.push(...found.map(formatProblem)),
  });
  await ingestion.ready;
}

const path = (...names: string[]): string => join(directory, ...names);
const host = (name: string): string | undefined => database.read(serviceEntries, `shop/${name}`)?.spec.hosts[0];
const eventually = (assertion: () => void): Promise<void> => vi.waitFor(assertion, { timeout: 5_000, interval: 5 });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "istiod-directory-"));
  database = new Database<unknown>();
  problems = [];
  resolved = [];
});

afterEach(async () => {
  await ingestion.stop();
  await rm(directory, { recursive: true, force: true });
});

describe("reading a directory", () => {
  test("commits everything at once: all depths, several documents per file, lists", async () => {
    await mkdir(path("a", "b"), { recursive: true });
    await writeFile(path("one.yaml"), `${entry("one")}---${entry("two")}`);
    await writeFile(path("a", "b", "three.yml"), entry("three"));
    await writeFile(
      path("list.yaml"),
      "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}\n",
    );
    await writeFile(path("notes.txt"), "not configuration");
    await writeFile(path(".hidden.yaml"), entry("hidden"));
    await open();
    expect(commits).toEqual([["Kubernetes/default/web", "shop/one", "shop/three", "shop/two"]]);
    expect(Object.fromEntries(source.counts())).toEqual({ ServiceEntry: 3, Service: 1 });
    expect(Object.fromEntries(source.ignored())).toEqual({ Deployment: 1 });
    expect(ingestion.problems()).toEqual([]);
  });

  test("reads only Kubernetes kinds of a remote cluster, under its ID", async () => {
    await writeFile(
      path("all.yaml"),
      `${entry("one")}---\n{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}\n`,
    );
    await open({ cluster: "remote", kinds: kubernetesKinds });
    expect(commits).toEqual([["remote/shop/web"]]);
    expect(database.read(services, "remote/shop/web")?.cluster).toBe("remote");
  });

  test("rejects a directory that does not exist", async () => {
    directory = join(directory, "absent");
    await expect(open()).rejects.toThrow(/absent does not exist, expected a directory of YAML files$/);
  });
});

describe("following a directory", () => {
  test("commits a burst once, with the objects that differ", async () => {
    await writeFile(path("one.yaml"), entry("one"));
    await writeFile(path("two.yaml"), entry("two"));
    await open();
    await writeFile(path("one.yaml"), entry("one", "changed.example.com"));
    await writeFile(path("two.yaml"), `# a comment\n${entry("two")}`);
    await writeFile(path("three.yaml"), entry("three"));
    await eventually(() => expect(commits).toHaveLength(2));
    expect(commits[1]).toEqual(["shop/one", "shop/three"]);
  });

  test("a file that is replaced by renaming, as editors do", async () => {
    await writeFile(path("one.yaml"), entry("one"));
    await open();
    for (const name of ["first.example.com", "second.example.com"]) {
      await writeFile(path(".one.yaml.swp"), entry("one", name));
      await rename(path(".one.yaml.swp"), path("one.yaml"));
      await eventually(() => expect(host("one")).toBe(name));
    }
  });

  test("a half-written file keeps its objects until it is complete", async () => {
    await writeFile(path("one.yaml"), `${entry("one")}---${entry("two")}`);
    await open();
    await writeFile(
      path("one.yaml"),
      `${entry("one", "new.example.com")}---\napiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: tw`,
    );
    await eventually(() => expect(host("one")).toBe("new.example.com"));
    expect(host("two")).toBe("two.example.com");
    expect(problems).toEqual([expect.stringMatching(/one\.yaml:\d+: is not YAML: /)]);
    await writeFile(path("one.yaml"), `${entry("one", "new.example.com")}---${entry("two", "whole.example.com")}`);
    await eventually(() => expect(host("two")).toBe("whole.example.com"));
    expect(resolved).toEqual(problems);
  });

  test("an empty file keeps its objects for the grace period", async () => {
    const clock = new FakeClock();
    await writeFile(path("one.yaml"), entry("one"));
    await open({ clock });
    await writeFile(path("one.yaml"), "");
    await writeFile(path("two.yaml"), entry("two"));
    await eventually(() => expect(host("two")).toBeDefined());
    await writeFile(path("three.yaml"), entry("three"));
    await eventually(() => expect(host("three")).toBeDefined());
    expect(host("one")).toBe("one.example.com");
    await writeFile(path("one.yaml"), entry("one", "again.example.com"));
    await eventually(() => expect(host("one")).toBe("again.example.com"));
    expect(commits).toEqual([["shop/one"], ["shop/two"], ["shop/three"], ["shop/one"]]);
  });

  test("an empty file loses its objects after the grace period", async () => {
    const clock = new FakeClock();
    await writeFile(path("one.yaml"), entry("one"));
    await open({ clock });
    await writeFile(path("one.yaml"), "");
    await eventually(() => {
      clock.advance(500);
      expect(host("one")).toBeUndefined();
    });
  });

  test("a repointed link, as in a mounted ConfigMap", async () => {
    for (const [version, name] of [
      ["..v1", "old.example.com"],
      ["..v2", "new.example.com"],
    ] as const) {
      await mkdir(path(version));
      await writeFile(path(version, "one.yaml"), entry("one", name));
    }
    await symlink("..v1", path("..data"));
    await symlink(join("..data", "one.yaml"), path("one.yaml"));
    await open();
    expect(host("one")).toBe("old.example.com");
    await symlink("..v2", path("..data_tmp"));
    await rename(path("..data_tmp"), path("..data"));
    await rm(path("..v1"), { recursive: true });
    await eventually(() => expect(host("one")).toBe("new.example.com"));
    expect(problems).toEqual([]);
  });

  test("a repointed link to a directory, and an edit of a link's target", async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), "istiod-elsewhere-"));
    await mkdir(join(elsewhere, "v1"));
    await mkdir(join(elsewhere, "v2"));
    await writeFile(join(elsewhere, "v1", "one.yaml"), entry("one", "v1.example.com"));
    await writeFile(join(elsewhere, "v2", "one.yaml"), entry("one", "v2.example.com"));
    await writeFile(join(elsewhere, "two.yaml"), entry("two"));
    await symlink(join(elsewhere, "v1"), path("live"));
    await symlink(join(elsewhere, "two.yaml"), path("two.yaml"));
    await open();
    expect(host("one")).toBe("v1.example.com");
    await symlink(join(elsewhere, "v2"), path("live.new"));
    await rename(path("live.new"), path("live"));
    await eventually(() => expect(host("one")).toBe("v2.example.com"));
    await writeFile(join(elsewhere, "v2", "one.yaml"), entry("one", "v3.example.com"));
    await eventually(() => expect(host("one")).toBe("v3.example.com"));
    await writeFile(join(elsewhere, "two.yaml"), entry("two", "changed.example.com"));
    await eventually(() => expect(host("two")).toBe("changed.example.com"));
    await rm(elsewhere, { recursive: true });
  });

  test("a link to a parent directory is not followed forever", async () => {
    await mkdir(path("a", "b"), { recursive: true });
    await writeFile(path("a", "b", "one.yaml"), entry("one"));
    await symlink(directory, path("a", "b", "loop"));
    await open();
    await writeFile(path("a", "b", "two.yaml"), entry("two"));
    await eventually(() => expect(host("two")).toBeDefined());
    expect(ingestion.problems()).toEqual([]);
  });

  test("files and directories that are created and removed", async () => {
    await writeFile(path("one.yaml"), entry("one"));
    await open();
    await unlink(path("one.yaml"));
    await eventually(() => expect(host("one")).toBeUndefined());
    await mkdir(path("deep", "deeper"), { recursive: true });
    await writeFile(path("deep", "deeper", "two.yaml"), entry("two"));
    await eventually(() => expect(host("two")).toBeDefined());
    await writeFile(path("deep", "deeper", "three.yaml"), entry("three"));
    await eventually(() => expect(host("three")).toBeDefined());
    await rename(path("deep"), path("moved"));
    await eventually(() =>
      expect(source.locate(kindOf("ServiceEntry"), "shop/two")?.file).toBe(path("moved", "deeper", "two.yaml")),
    );
    await rm(path("moved"), { recursive: true });
    await eventually(() => expect(host("two")).toBeUndefined());
  });

  test("any sequence of edits ends in the state of a fresh reading", async () => {
    const names = ["one.yaml", "two.yaml", "note.txt", join("sub", "one.yaml"), "link.yaml"];
    const edits: ((name: string, i: number) => Promise<unknown>)[] = [
      (name, i) => writeFile(path(name), entry(`e${i % 3}`, `h${i}.example.com`)),
      (name, i) =>
        writeFile(path(`.${i}.tmp`), entry(`r${i % 3}`, `h${i}.example.com`)).then(() =>
          rename(path(`.${i}.tmp`), path(name)),
        ),
      (name) => rm(path(name), { force: true }),
      () => mkdir(path("sub")),
      () => rm(path("sub"), { recursive: true, force: true }),
      (name) => symlink(path("two.yaml"), path(name)),
      (name, i) => rename(path(name), path(names[i % names.length] ?? name)),
    ];
    await open();
    let random = 7;
    const next = (below: number): number => (random = (random * 48_271) % 2_147_483_647) % below;
    for (let i = 0; i < 150; i++) {
      await edits[next(edits.length)]?.(names[next(names.length)] ?? "", i).catch(() => undefined);
      if (next(4) === 0) await new Promise((resolve) => setTimeout(resolve, next(60)));
    }
    const fresh = new Database<unknown>();
    const inForce = (of: Database<unknown>): unknown =>
      of.all(serviceEntries).map((found) => [found.name, found.spec.hosts]);
    const other = new Ingestion(fresh, [new DirectorySource({ directory })]);
    await other.ready;
    await other.stop();
    await eventually(() => expect(inForce(database)).toEqual(inForce(fresh)));
  });

  test("everything stays active while the directory itself is missing", async () => {
    await writeFile(path("one.yaml"), entry("one"));
    await open();
    await rm(directory, { recursive: true });
    await eventually(() => expect(problems).toEqual([`${directory}: does not exist`]));
    expect(host("one")).toBe("one.example.com");
    await mkdir(directory);
    await writeFile(path("two.yaml"), entry("two"));
    await eventually(() => expect(host("two")).toBeDefined());
    expect(host("one")).toBeUndefined();
    expect(ingestion.problems()).toEqual([]);
  });
});

describe("a rejected document", () => {
  const bad = entry("one").replace("number: 80", "number: eighty");

  test("is rejected alone and reported once with its place; its last good version stays active", async () => {
    await writeFile(path("one.yaml"), `${entry("one")}---${entry("two")}`);
    await open();
    await writeFile(path("one.yaml"), `${bad}---${entry("two", "new.example.com")}`);
    await eventually(() => expect(host("two")).toBe("new.example.com"));
    expect(host("one")).toBe("one.example.com");
    expect(problems).toEqual([
      `${path("one.yaml")}:5: ServiceEntry shop/one: ports[0].number: is "eighty", expected an integer of 0 or more`,
    ]);
    await writeFile(path("one.yaml"), `${bad}---${entry("two", "newer.example.com")}`);
    await eventually(() => expect(host("two")).toBe("newer.example.com"));
    expect(problems).toHaveLength(1);
    await writeFile(path("one.yaml"), entry("one", "mended.example.com"));
    await eventually(() => expect(host("one")).toBe("mended.example.com"));
    expect(resolved).toEqual(problems);
    expect(host("two")).toBeUndefined();
  });

  test("is removed with its last good version", async () => {
    await writeFile(path("one.yaml"), entry("one"));
    await open();
    await writeFile(path("one.yaml"), bad);
    await eventually(() => expect(problems).toHaveLength(1));
    await unlink(path("one.yaml"));
    await eventually(() => expect(host("one")).toBeUndefined());
  });

  test("an object defined twice: the first file by path applies, and the error names both", async () => {
    await writeFile(path("a.yaml"), entry("one", "a.example.com"));
    await writeFile(path("b.yaml"), entry("one", "b.example.com"));
    await open();
    expect(host("one")).toBe("a.example.com");
    expect(problems).toEqual([
      `${path("b.yaml")}:2: ServiceEntry shop/one: is also defined at ${path("a.yaml")}:2, which counts; expected it to be defined once`,
    ]);
    await unlink(path("a.yaml"));
    await eventually(() => expect(host("one")).toBe("b.example.com"));
    expect(ingestion.problems()).toEqual([]);
  });
});

function kindOf(name: string) {
  const kind = allKinds.find((k) => k.kind === name);
  if (kind === undefined) throw new Error(name);
  return kind;
}
