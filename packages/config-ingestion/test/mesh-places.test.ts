import {
  IngestionError,
  meshConfigSource,
  meshNetworksSource,
  revisedName,
  type Source,
} from "@istiod/config-ingestion";
import { MemoryPlace } from "@istiod/config-ingestion/testing";
import { formatProblem, meshConfig, meshConfigKey, meshNetworks, meshNetworksKey } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { expect, test } from "vitest";

function reader(source: Source) {
  const database = new Database<unknown>();
  return {
    database,
    async problems(): Promise<string[]> {
      const update = await source.read();
      database.commit((tx) => update.apply(tx));
      return update.problems.map(formatProblem);
    },
    get mesh() {
      return database.read(meshConfig, meshConfigKey);
    },
    get networks(): string[] {
      return Object.keys(database.read(meshNetworks, meshNetworksKey)?.networks ?? {});
    },
  };
}

test("later places override earlier ones by field", async () => {
  const shared = new MemoryPlace("shared", "trustDomain: shared.example\ndefaultConfig: {concurrency: 3}\n");
  const own = new MemoryPlace("own", "trustDomain: own.example\naccessLogFile: /dev/stdout\n");
  const mesh = reader(meshConfigSource([shared, own]));
  expect(await mesh.problems()).toEqual([]);
  expect(mesh.mesh).toMatchObject({
    trustDomain: "own.example",
    accessLogFile: "/dev/stdout",
    defaultConfig: { concurrency: 3 },
  });
});

test("a rejected edit of one place keeps its last good version, and edits of others still apply", async () => {
  const shared = new MemoryPlace("shared", "accessLogFile: /a\n");
  const own = new MemoryPlace("own", "trustDomain: own.example\n");
  const mesh = reader(meshConfigSource([shared, own]));
  await mesh.problems();
  own.set("trustDomain: 'no domain'\n");
  const rejected = 'own:1: trustDomain: is "no domain", expected a domain name';
  expect(await mesh.problems()).toEqual([rejected]);
  shared.set("accessLogFile: /b\n");
  expect(await mesh.problems()).toEqual([rejected]);
  expect(mesh.mesh).toMatchObject({ trustDomain: "own.example", accessLogFile: "/b" });
  own.set("trustDomain: new.example\n");
  expect(await mesh.problems()).toEqual([]);
  expect(mesh.mesh).toMatchObject({ trustDomain: "new.example", accessLogFile: "/b" });
});

test("documents that are no longer found or no YAML keep the last good version", async () => {
  const own = new MemoryPlace("own", "trustDomain: own.example\n");
  const mesh = reader(meshConfigSource([own]));
  await mesh.problems();
  own.set(undefined);
  expect(await mesh.problems()).toEqual(["own: does not exist; the last good version stays active"]);
  own.set("a: [");
  expect(await mesh.problems()).toEqual([expect.stringContaining("own:1: is not YAML")]);
  own.fail("may not be read");
  expect(await mesh.problems()).toEqual(["own: may not be read; the last good version stays active"]);
  expect(mesh.mesh?.trustDomain).toBe("own.example");
});

test("an invalid document at startup is an error, whichever place it has", async () => {
  const good = new MemoryPlace("good", "trustDomain: own.example\n");
  for (const bad of [new MemoryPlace("bad", "trustDomain: 'no domain'\n"), new MemoryPlace("bad", "a: [")]) {
    await expect(meshConfigSource([good, bad]).read()).rejects.toThrow(IngestionError);
    await expect(meshConfigSource([bad, good]).read()).rejects.toThrow(/^bad:1: /);
  }
});

test("a place that gets its first document later is read", async () => {
  const own = new MemoryPlace("own");
  const mesh = reader(meshConfigSource([own]));
  expect(await mesh.problems()).toEqual([]);
  expect(mesh.mesh?.trustDomain).toBe("cluster.local");
  own.set("trustDomain: late.example\n");
  expect(await mesh.problems()).toEqual([]);
  expect(mesh.mesh?.trustDomain).toBe("late.example");
});

test("networks are those of the first place that has a document", async () => {
  const shared = new MemoryPlace("shared");
  const own = new MemoryPlace("own", "networks: {own: {}}\n");
  const mesh = reader(meshNetworksSource([shared, own]));
  expect(await mesh.problems()).toEqual([]);
  expect(mesh.networks).toEqual(["own"]);
  shared.set("networks: {shared: {}}\n");
  expect(await mesh.problems()).toEqual(["own:1: is ignored: networks are read from one place only"]);
  expect(mesh.networks).toEqual(["shared"]);
});

test("ConfigMaps have the name of a revision, except the default one", () => {
  expect(["", "default", "canary"].map((revision) => revisedName("istio", revision))).toEqual([
    "istio",
    "istio",
    "istio-canary",
  ]);
});
