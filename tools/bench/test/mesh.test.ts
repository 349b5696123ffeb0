import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode } from "@istiod/config-schema";
import { startApiServer } from "@istiod/kubernetes/testing";
import { proxyFromNode } from "@istiod/push-context";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { change, changeKinds } from "../src/mesh/changes.js";
import { apply, fileName, writeObjects } from "../src/mesh/directory.js";
import { Mesh, type MeshOptions } from "../src/mesh/mesh.js";
import type { KubernetesObject } from "../src/mesh/objects.js";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

const options: MeshOptions = {
  services: 23,
  namespaces: 4,
  endpoints: 3,
  proxies: 17,
  scoped: 0.5,
  neighbours: 1,
  gatewayRoutes: 3,
  seed: 7,
};

async function folder(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "mesh-"));
  cleanUp.push(() => rm(root, { recursive: true, force: true }));
  return join(root, "mesh");
}

async function contents(directory: string): Promise<Map<string, string>> {
  return new Map(
    await Promise.all(
      (await readdir(directory))
        .sort()
        .map(async (file) => [file, await readFile(join(directory, file), "utf8")] as const),
    ),
  );
}

function expectAccepted(objects: readonly KubernetesObject[]): void {
  for (const object of objects) {
    const decoded = decode(object);
    expect(decoded.length, fileName(object)).toBeGreaterThan(0);
    for (const { outcome } of decoded) expect(outcome, fileName(object)).toBe("accepted");
  }
}

describe("a mesh", () => {
  test("has objects that are accepted, one a file, with addresses of their own", () => {
    const objects = new Mesh(options).objects();
    expectAccepted(objects);
    expect(new Set(objects.map(fileName)).size).toBe(objects.length);
    const count = (kind: string): number => objects.filter((object) => object.kind === kind).length;
    expect({
      services: count("Service"),
      pods: count("Pod"),
      routes: count("VirtualService"),
      sidecars: count("Sidecar"),
    }).toEqual({ services: 24, pods: 71, routes: 26, sidecars: 2 });
    const addresses = objects.flatMap(({ kind, spec, status }) =>
      kind === "Pod"
        ? (status as { podIP: string }).podIP
        : kind === "Service"
          ? (spec as { clusterIP: string }).clusterIP
          : [],
    );
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  test("has addresses of their own in the largest size, too", () => {
    const mesh = new Mesh({ services: 5000, namespaces: 100, seed: 1 });
    expect(new Set(mesh.services.flatMap(({ pods }) => pods.map(({ ip }) => ip))).size).toBe(15_000);
  });

  test("has proxies where there are pods, gateways first", () => {
    const mesh = new Mesh(options);
    const pods = new Map(
      mesh
        .objects()
        .flatMap(({ kind, metadata, status }) =>
          kind === "Pod" ? [[`${metadata.namespace}/${metadata.name}`, (status as { podIP: string }).podIP]] : [],
        ),
    );
    const proxies = mesh.proxies();
    expect(proxies.map(({ type }) => type)).toEqual([
      "router",
      "router",
      ...Array.from({ length: 17 }, () => "sidecar"),
    ]);
    for (const place of proxies) {
      expect(pods.get(`${place.namespace}/${place.name}`)).toBe(place.ip);
      expect(proxyFromNode({ ...place, locality: { region: place.region, zone: place.zone } })).toMatchObject({
        type: place.type,
        namespace: place.namespace,
        ipAddresses: [place.ip],
      });
    }
  });

  test("has as many proxies in the first namespace as it should, whatever its size", () => {
    for (const namespaces of [2, 4, 23]) {
      const proxies = new Mesh({ ...options, namespaces, inFirst: 3 })
        .proxies()
        .filter(({ type }) => type === "sidecar");
      expect(proxies).toHaveLength(17);
      expect(proxies.filter(({ namespace }) => namespace === "ns-0")).toHaveLength(3);
    }
  });

  test("is refused where its sizes do not go together", () => {
    expect(() => new Mesh({ ...options, proxies: 70 })).toThrow("70 proxies, but only 69 pods");
    expect(() => new Mesh({ ...options, services: 0 })).toThrow(RangeError);
    expect(() => new Mesh({ ...options, namespaces: 23, inFirst: 4 })).toThrow("not so many pods");
  });

  test("is the same, with its changes, for the same seed, and another for another", async () => {
    const written = async (seed: number): Promise<Map<string, string>> => {
      const directory = await folder();
      const mesh = new Mesh({ ...options, seed });
      await writeObjects(directory, mesh.objects());
      for (let i = 0; i < 3; i++) for (const kind of changeKinds) await apply(directory, change(mesh, kind, i));
      return contents(directory);
    };
    const first = await written(7);
    expect(await written(7)).toEqual(first);
    expect(await written(8)).not.toEqual(first);
  });
});

describe("a change", () => {
  test.each(changeKinds)("%s writes objects that are accepted, and changes the files that it names", async (kind) => {
    const directory = await folder();
    const mesh = new Mesh(options);
    await writeObjects(directory, mesh.objects());
    for (let i = 0; i < 4; i++) {
      const before = await contents(directory);
      const made = change(mesh, kind, i);
      expectAccepted(made.put);
      await apply(directory, made);
      const after = await contents(directory);
      const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
        (file) => before.get(file) !== after.get(file),
      );
      expect(changed.length).toBeGreaterThan(0);
      expect(new Set(changed)).toEqual(new Set([...made.put, ...made.removed].map(fileName)));
      for (const object of made.removed) expect(after.has(fileName(object))).toBe(false);
    }
  });

  test("leaves the directory as the mesh says that it is, but for versions", async () => {
    const directory = await folder();
    const mesh = new Mesh(options);
    await writeObjects(directory, mesh.objects());
    for (let i = 0; i < 10; i++)
      for (const kind of changeKinds)
        if (kind !== "service-del" || mesh.added.length > 1) await apply(directory, change(mesh, kind, i));
    const meaning = (text: string): string => text.replaceAll(/"(resourceVersion|creationTimestamp)": "[^"]*",?/g, "");
    const whole = new Map(
      mesh.objects().map((object) => [fileName(object), meaning(`${JSON.stringify(object, undefined, 1)}\n`)]),
    );
    expect(new Map([...(await contents(directory))].map(([file, text]) => [file, meaning(text)]))).toEqual(whole);
  });

  test("that was undone leaves nothing", () => {
    const mesh = new Mesh(options);
    const before = JSON.stringify(mesh.endpointSlice(mesh.serviceAt(2)).endpoints);
    change(mesh, "endpoint", 2);
    expect(JSON.stringify(mesh.endpointSlice(mesh.serviceAt(2)).endpoints)).not.toBe(before);
    change(mesh, "endpoint", 2);
    expect(JSON.stringify(mesh.endpointSlice(mesh.serviceAt(2)).endpoints)).toBe(before);
  });
});

test("an API server accepts the services of the mesh", async () => {
  const server = await startApiServer();
  onTestFinished(() => server.stop());
  const objects = new Mesh(options).objects().filter(({ kind }) => kind === "Namespace" || kind === "Service");
  for (const { apiVersion, kind, metadata, spec } of objects) {
    const { name, namespace } = metadata as { readonly name: string; readonly namespace?: string };
    const place = namespace === undefined ? { name } : { name, namespace };
    await server.objects.create({ apiVersion, kind, metadata: place, ...(spec !== undefined && { spec }) });
  }
  expect(objects.filter(({ kind }) => kind === "Service").length).toBeGreaterThan(options.services);
});
