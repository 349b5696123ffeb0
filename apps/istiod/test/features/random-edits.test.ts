import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clusterType, endpointType, listenerType, routeType, secretType } from "@istiod/xds-server";
import type { EnvoyClient } from "@istiod/xds-server/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Mesh, variants } from "./mesh.js";
import { anyEdit, beginning, inhabitants } from "./random-mesh.js";

const sample = fileURLToPath(new URL("../../../../samples/bookinfo", import.meta.url));
const numRuns = Number(process.env["PROPERTY_RUNS"] ?? 4);
const seed = process.env["PROPERTY_SEED"];

async function bookinfo(): Promise<Record<string, string>> {
  const names = (await readdir(sample)).filter((name) => name.endsWith(".yaml"));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(sample, name), "utf8")] as const)),
  );
}

/** A proxy's resources by type and name: the version if the variant has versions, and a hash of the bytes. */
function state(proxy: EnvoyClient, withVersions: boolean): Record<string, Record<string, string>> {
  const types = [clusterType, endpointType, listenerType, routeType, secretType];
  const text = (type: string): [string, string][] =>
    [...proxy.resources(type)]
      .map(([name, { bytes, version }]): [string, string] => [
        name,
        `${withVersions ? version : ""} ${createHash("sha256").update(bytes).digest("base64url")}`,
      ])
      .sort();
  return Object.fromEntries(
    types.map((type) => [type.slice(type.lastIndexOf(".") + 1), Object.fromEntries(text(type))]),
  );
}

const step = fc.record({
  edits: fc.array(anyEdit, { minLength: 1, maxLength: 4 }),
  /** Set if istiod commits these edits before the next. */
  waits: fc.boolean(),
  also: fc.oneof(
    { weight: 5, arbitrary: fc.constant("nothing" as const) },
    { weight: 1, arbitrary: fc.constant("reconnect" as const) },
    { weight: 1, arbitrary: fc.constant("pause" as const) },
  ),
});

test(
  "law: after whatever edits, each proxy has what a fresh istiod gives to a fresh proxy",
  { timeout: 60_000 + numRuns * 20_000 },
  async () => {
    const files = { ...(await bookinfo()), ...beginning };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        const mesh = await Mesh.start("delta", files);
        try {
          const proxies: { readonly at: number; readonly proxy: EnvoyClient }[] = [];
          for (const variant of variants)
            for (const [at, { host, ip, ...about }] of inhabitants.entries())
              proxies.push({
                at,
                proxy: await mesh.proxy(host, ip, { ...about, variant, as: `${host} by ${variant}` }),
              });
          for (const [at, { edits, waits, also }] of steps.entries()) {
            for (const { proxy } of proxies) if (also === "pause") proxy.xds.pause(true);
            const apply = async (): Promise<void> => {
              for (const { file, text } of edits) {
                if (text === null) await rm(join(mesh.directory, file), { force: true });
                else await mesh.write({ [file]: text });
              }
            };
            if (waits && also !== "pause") await mesh.received(apply);
            else await apply();
            const [one] = proxies.slice(at % proxies.length);
            if (also === "reconnect") one?.proxy.reconnect();
            for (const { proxy } of proxies) proxy.xds.pause(false);
            if (at !== Math.floor(steps.length / 2) && at !== steps.length - 1) continue;
            await mesh.received(() => undefined);
            // An edit that is refused leaves its last good version in force, which the files no longer tell.
            expect(mesh.errors).toEqual([]);
            await compare(mesh, proxies);
          }
        } finally {
          await mesh.stop();
        }
      }),
      {
        numRuns,
        ...(seed !== undefined && { seed: Number(seed) }),
        endOnFailure: process.env["PROPERTY_SHRINK"] === undefined,
      },
    );
  },
);

async function compare(
  mesh: Mesh,
  proxies: readonly { readonly at: number; readonly proxy: EnvoyClient }[],
): Promise<void> {
  const fresh = await mesh.beside();
  try {
    for (const [at, { host, ip, ...about }] of inhabitants.entries()) {
      const expected = await fresh.proxy(host, ip, { ...about, variant: "delta" });
      for (const { at: of, proxy } of proxies) {
        if (of !== at) continue;
        const withVersions = proxy.variant === "delta";
        expect(state(proxy, withVersions), `${host} by ${proxy.variant}`).toEqual(state(expected, withVersions));
        expect([...proxy.warming]).toEqual([]);
      }
    }
  } finally {
    await fresh.stop();
  }
}
