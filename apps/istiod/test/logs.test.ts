import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { startDiscovery } from "@istiod/istiod";
import { scopeDescriptions } from "@istiod/mesh-log";
import { type LogFlags, openLog, serveControlZ } from "@istiod/logging";
import { clusterType } from "@istiod/xds-server";
import { afterEach, expect, it, vi } from "vitest";
import { client, flagValues, folder } from "./serving.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A log into a file, and what is in it. */
async function logged(set: Partial<LogFlags> = {}) {
  const file = join(await folder({}), "log");
  const opened = openLog({ ...flagValues({}), log_target: [file], ...set }, scopeDescriptions);
  const text = async (): Promise<string> => readFile(file, "utf8");
  const lines = async (): Promise<Record<string, unknown>[]> =>
    (await text())
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...opened, file, text, lines };
}

it("changes log levels at runtime, as istioctl admin log does", async () => {
  const root = await folder({ "config/a.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}" });
  const { log, scopes, lines } = await logged();
  const server = await serveControlZ({ address: "localhost", port: 0 }, scopes);
  ends.push(() => server.close());
  const { address, port } = server.address() as AddressInfo;
  expect(address).toBe("127.0.0.1");
  const at = `http://localhost:${port}/scopej`;
  const istiod = await startDiscovery(
    flagValues({ configDir: join(root, "config") }),
    { PILOT_DEBOUNCE_AFTER: "10ms" },
    log,
    "0.1.0",
  );
  ends.push(() => istiod.close());
  const web = client(
    istiod,
    "delta",
    create(NodeSchema, { id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local", metadata: { NAMESPACE: "shop" } }),
  );
  web.subscribe(clusterType);
  await web.accept(clusterType);
  expect(await lines()).toContainEqual(expect.objectContaining({ level: "info", scope: "delta", msg: "connected" }));
  expect((await lines()).map(({ msg }) => msg)).not.toContain("xds push");

  const all = (await (await fetch(at)).json()) as { name: string }[];
  expect(all.map(({ name }) => name)).toEqual([
    "ads",
    "analysis",
    "debug",
    "default",
    "delta",
    "model",
    "pkica",
    "push",
    "serverca",
    "trustBundle",
    "validation",
  ]);
  expect(all[0]).toEqual({
    name: "ads",
    description: expect.any(String) as string,
    output_level: "info",
    stack_trace_level: "none",
    log_callers: false,
  });
  expect(
    (
      await fetch(`${at}/delta`, {
        method: "PUT",
        body: JSON.stringify({ name: "delta", output_level: "debug", log_callers: true }),
      })
    ).status,
  ).toBe(202);
  expect(await (await fetch(`${at}/delta`)).json()).toMatchObject({
    name: "delta",
    output_level: "debug",
    stack_trace_level: "none",
    log_callers: true,
  });
  await writeFile(
    join(root, "config/b.yaml"),
    "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.1.0.1, ports: [{name: http, port: 80}]}}",
  );
  await web.accept(clusterType);
  await vi.waitFor(async () =>
    expect(await lines()).toContainEqual(
      expect.objectContaining({
        level: "debug",
        scope: "delta",
        msg: "xds push",
        type: "CDS",
        cause: ["Service/shop/cart"],
        caller: expect.any(String) as string,
      }),
    ),
  );

  const answers = await Promise.all([
    fetch(`${at}/none`),
    fetch(`${at}/none`, { method: "PUT", body: "{}" }),
    fetch(`${at}/ads`, { method: "PUT", body: "no" }),
    fetch(`${at}/ads`, { method: "DELETE" }),
    fetch(at.replace("scopej", "envj")),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 405, 404]);
});
