import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { ProxyExplanation } from "@istiod/explain";
import { clusterType, routeType } from "@istiod/xds-server";
import { EnvoyClient } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { explainCommand } from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";
import { scrape } from "@istiod/prometheus/testing";
import { folder, serve } from "./serving.js";
import { type Istiod, statusOf } from "./troubled-mesh.js";

const ends: (() => unknown)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

const nodeId = "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local";
const service = (name: string, port: number): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {clusterIP: 10.1.0.${port % 100}, ports: [{name: http, port: ${port}}]}}\n---\n`;
const services = service("cart", 80) + service("pay", 8081) + service("mail", 8082) + service("news", 8083);
const rule = (seconds: number): string =>
  `{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: cart, namespace: shop}, spec: {host: cart, trafficPolicy: {connectionPool: {tcp: {connectTimeout: ${seconds}s}}}}}\n`;
const cluster = (name: string, port: number): string => `outbound|${port}||${name}.shop.svc.cluster.local`;
const cart = cluster("cart", 80);
const reason = "no such timeout";

async function explained(istiod: Istiod, ...args: string[]): Promise<string> {
  let out = "";
  const command = explainCommand(offlineMeshes({}), (text) => (out += text)).exitOverride();
  await command.parseAsync(["--istiod", istiod.http, "--proxy", "web.shop", ...args], { from: "user" });
  return out;
}

async function statesOf(istiod: Istiod, type: string): Promise<Record<string, unknown>> {
  const { resources } = JSON.parse(await explained(istiod, "--type", type, "-o", "json")) as ProxyExplanation;
  return Object.fromEntries(resources.map(({ name, proxyState }) => [name, proxyState]));
}

interface TypeState {
  readonly typeUrl: string;
  readonly configStatus: string;
  readonly errorState?: { readonly details: string };
}

/** Returns the status of the proxy's types, in the form of Envoy's client status discovery service. */
async function clientStatus(istiod: Istiod): Promise<readonly TypeState[]> {
  const answer = await fetch(`${istiod.http}/debug/client_status`);
  const { resources } = (await answer.json()) as {
    readonly resources: readonly { readonly genericXdsConfigs: readonly TypeState[] }[];
  };
  return resources[0]?.genericXdsConfigs ?? [];
}

async function statusOfType(istiod: Istiod, typeUrl: string): Promise<TypeState | undefined> {
  return (await clientStatus(istiod)).find((each) => each.typeUrl === typeUrl);
}

describe.each(["delta", "sotw"] as const)("a resource that a proxy rejects, by %s", (variant) => {
  async function rejecting(isBad: (typeUrl: string, name: string) => boolean) {
    const root = await folder({ "mesh.yaml": services, "rule.yaml": rule(1) });
    const istiod = await serve({ configDir: root });
    let isStrict = false;
    const proxy = new EnvoyClient(
      { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 },
      {
        variant,
        node: create(NodeSchema, { id: nodeId, metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes" } }),
        random: () => 0,
        refuse: (typeUrl, { name }) => (isStrict && isBad(typeUrl, name) ? { reason } : undefined),
      },
    );
    ends.push(() => proxy.close());
    await proxy.initialized();
    await proxy.settled();
    const refuse = (strict: boolean): void => void (isStrict = strict);
    return { istiod, proxy, refuse, save: (text: string) => writeFile(join(root, "rule.yaml"), text) };
  }

  test("is told by explain, the status page, CSDS and metrics, and its neighbors are live", async () => {
    const { istiod, refuse, save } = await rejecting((typeUrl, name) => typeUrl === clusterType && name === cart);
    const before = await statesOf(istiod, "cds");
    expect(before[cart]).toEqual({ state: "acknowledged" });
    const [old] = (JSON.parse(await explained(istiod, "--resource", cart, "-o", "json")) as ProxyExplanation).resources;
    refuse(true);
    await save(rule(7));
    // It is tried again now and then, and is "resent" for a moment.
    await vi.waitFor(async () => {
      const states = await statesOf(istiod, "cds");
      expect(states[cart]).toMatchObject({ state: "rejected", reason, acceptedVersion: old?.version });
      expect(states[cluster("pay", 8081)]).toEqual({ state: "acknowledged" });
      expect(await explained(istiod, "--resource", cart)).toMatch(
        /^ {2}proxy: rejected: no such timeout \(attempt \d, next at 20\S+Z, acknowledged version \w+\)$/m,
      );
    }, 8000);
    expect(await explained(istiod, "--resource", cluster("pay", 8081))).toMatch(/^ {2}proxy: acknowledged$/m);
    expect(await statusOf(istiod)).toMatchObject({
      proxyCounts: { rejected: 1 },
      rejections: [
        { type: "CDS", reason, resources: [cart], causes: ["DestinationRule/shop/cart"], proxies: ["web.shop"] },
      ],
    });
    expect(await statusOfType(istiod, clusterType)).toMatchObject({
      configStatus: "ERROR",
      errorState: { details: `${cart}: ${reason}` },
    });
    expect(await statusOfType(istiod, routeType)).toMatchObject({ configStatus: "SYNCED" });
    refuse(false);
    await save(rule(8));
    await vi.waitFor(
      async () => expect(await statusOf(istiod)).toMatchObject({ proxyCounts: { rejected: 0, synced: 1 } }),
      5000,
    );
    expect((await statesOf(istiod, "cds"))[cart]).toEqual({ state: "acknowledged" });
    expect(await statusOfType(istiod, clusterType)).toMatchObject({ configStatus: "SYNCED" });
    expect((await scrape(istiod)).value("istiod_rejected_resources", { type: "cds" })).toBeUndefined();
  }, 20_000);

  test("counts once, however many responses isolate it and try it again", async () => {
    const { istiod, refuse, save } = await rejecting((typeUrl, name) => typeUrl === routeType && name === "8082");
    refuse(true);
    const policy = `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: all, namespace: shop}, spec: {hosts: ["*.shop.svc.cluster.local", cart, pay, mail, news], http: [{timeout: 3s, route: [{destination: {host: cart}}]}]}}\n`;
    await save(policy);
    await vi.waitFor(
      async () => expect((await statesOf(istiod, "rds"))["8082"]).toMatchObject({ state: "rejected", reason }),
      5000,
    );
    const again = async (): Promise<number> =>
      ((await statesOf(istiod, "rds"))["8082"] as { readonly attempts?: number } | undefined)?.attempts ?? 0;
    await vi.waitFor(async () => expect(await again()).toBeGreaterThanOrEqual(2), 8000);
    const now = await scrape(istiod);
    expect(now.value("pilot_total_xds_rejects", { type: "rds" })).toBe(1);
    expect(now.value("pilot_xds_rds_reject", { node: nodeId })).toBe(1);
    expect(now.value("istiod_rejected_resources", { type: "rds" })).toBe(1);
    const states = await statesOf(istiod, "rds");
    expect([states["80"], states["8081"], states["8083"]]).toEqual(Array(3).fill({ state: "acknowledged" }));
  }, 20_000);

  test("has a state of its own if the proxy did not ask for it, and none if it is not connected", async () => {
    const { istiod, proxy } = await rejecting(() => false);
    expect(Object.values(await statesOf(istiod, "nds"))).toEqual([{ state: "not subscribed" }]);
    proxy.close();
    await vi.waitFor(async () => expect(await clientStatus(istiod)).toEqual([]), 5000);
    await expect(explained(istiod, "--resource", cart)).rejects.toThrow(/is not connected/);
  });
});
