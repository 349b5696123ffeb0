import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Database } from "@istiod/incremental";
import { Ingestion, IngestionError, meshConfigFile, meshNetworksFile } from "@istiod/config-ingestion";
import { formatProblem, meshConfig, meshConfigKey, meshNetworks, meshNetworksKey } from "@istiod/config-schema";
import { type Clock } from "@istiod/runtime";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const quickClock: Clock = {
  now: () => performance.now() * 10,
  after(delay, callback) {
    const timer = setTimeout(callback, delay / 10);
    return () => clearTimeout(timer);
  },
};

let directory: string;
let database: Database<unknown>;
let ingestion: Ingestion<unknown>;
let problems: string[];

const path = (name: string): string => join(directory, name);
const trustDomain = (): string | undefined => database.read(meshConfig, meshConfigKey)?.trustDomain;
const eventually = (assertion: () => void): Promise<void> => vi.waitFor(assertion, { timeout: 5_000, interval: 5 });

async function open(file = path("mesh.yaml"), networks?: string): Promise<void> {
  ingestion = new Ingestion(database, [meshConfigFile(file, quickClock), meshNetworksFile(networks, quickClock)], {
    clock: quickClock,
    onProblems: (found) => void problems.push(...found.map(formatProblem)),
  });
  await ingestion.ready;
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "istiod-mesh-"));
  database = new Database<unknown>();
  problems = [];
});

afterEach(async () => {
  await ingestion.stop();
  await rm(directory, { recursive: true, force: true });
});

test("absent files yield defaults in one commit", async () => {
  await open(path("nowhere/mesh.yaml"));
  expect(trustDomain()).toBe("cluster.local");
  expect(database.read(meshNetworks, meshNetworksKey)?.networks).toEqual({});
  expect(database.stats().revision).toBe(1);
});

test("a file that never existed is no problem; a file that disappears is", async () => {
  await open();
  const source = meshConfigFile(path("mesh.yaml"), quickClock);
  expect((await source.read()).problems).toEqual([]);
  expect((await source.read()).problems).toEqual([]);
  await writeFile(path("mesh.yaml"), "trustDomain: late.example\n");
  expect((await source.read()).problems).toEqual([]);
  await unlink(path("mesh.yaml"));
  expect((await source.read()).problems.map(formatProblem)).toEqual([
    expect.stringContaining("does not exist; the last good version stays active"),
  ]);
  source.stop();
});

test("a file that is created later is read", async () => {
  await open();
  await writeFile(path("mesh.yaml"), "trustDomain: late.example\n");
  await eventually(() => expect(trustDomain()).toBe("late.example"));
});

test("an edit in place, a rename and a repointed link are followed", async () => {
  await mkdir(path("..v1"));
  await mkdir(path("..v2"));
  await writeFile(path("..v1/mesh.yaml"), "trustDomain: one.example\n");
  await writeFile(path("..v2/mesh.yaml"), "trustDomain: two.example\n");
  await symlink("..v1", path("..data"));
  await symlink("..data/mesh.yaml", path("mesh.yaml"));
  await open();
  expect(trustDomain()).toBe("one.example");
  await symlink("..v2", path("..new"));
  await rename(path("..new"), path("..data"));
  await eventually(() => expect(trustDomain()).toBe("two.example"));
  await writeFile(path("beside"), "trustDomain: three.example\n");
  await rename(path("beside"), path("mesh.yaml"));
  await eventually(() => expect(trustDomain()).toBe("three.example"));
  await writeFile(path("mesh.yaml"), "trustDomain: four.example\n");
  await eventually(() => expect(trustDomain()).toBe("four.example"));
});

test("an invalid value at startup is an error", async () => {
  await writeFile(path("mesh.yaml"), "rootNamespace: x\nconnectTimeout: 2h\n");
  await expect(open()).rejects.toThrow(
    new IngestionError("invalid", `${path("mesh.yaml")}:2: connectTimeout: is 7200s, expected at most 1h`),
  );
});

test("an invalid value, an empty file or a removed file keeps the last good version, and is reported", async () => {
  await writeFile(path("mesh.yaml"), "trustDomain: good.example\n");
  await open();
  await writeFile(path("mesh.yaml"), "trustDomain: 'not good'\nnoSuchField: 1\n");
  await eventually(() => expect(problems).toHaveLength(2));
  expect(problems).toEqual([
    `${path("mesh.yaml")}:2: noSuchField: is not a field of MeshConfig; it is ignored`,
    `${path("mesh.yaml")}:1: trustDomain: is "not good", expected a domain name`,
  ]);
  await writeFile(path("mesh.yaml"), "");
  await eventually(() =>
    expect(problems.at(-1)).toBe(
      `${path("mesh.yaml")}: is empty (write {} for the defaults); the last good version stays active`,
    ),
  );
  await unlink(path("mesh.yaml"));
  await eventually(() =>
    expect(problems.at(-1)).toBe(`${path("mesh.yaml")}: does not exist; the last good version stays active`),
  );
  expect(trustDomain()).toBe("good.example");
  await writeFile(path("mesh.yaml"), "{}\n");
  await eventually(() => expect(trustDomain()).toBe("cluster.local"));
  expect(ingestion.problems()).toEqual([]);
});

test("mesh networks are read", async () => {
  await writeFile(path("networks.yaml"), "networks: {north: {gateways: [{address: 203.0.113.7, port: 15443}]}}\n");
  await open(path("mesh.yaml"), path("networks.yaml"));
  expect(Object.keys(database.read(meshNetworks, meshNetworksKey)?.networks ?? {})).toEqual(["north"]);
});
