import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { JwtAuthenticationSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/jwt_authn/v3/config";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { requestAuthenticationKind } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { statusExits } from "@istiod/istiod";
import { refreshSchedule } from "@istiod/jwks";
import { OidcProvider } from "@istiod/jwks/testing";
import { fetchedJwks, jwksFetches, type Proxy, unverifiableJwks } from "@istiod/push-context";
import { type Clock, systemClock } from "@istiod/settings";
import { listenerType } from "@istiod/xds-server";
import type { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { JwksDemand } from "../src/jwks/jwks-demand.js";
import { jwksSettings } from "../src/jwks/jwks-settings.js";
import { noProxy } from "../src/no-proxy.js";
import { client, decoded, folder, serve } from "./serving.js";
import { runStatus } from "./status-command.js";

const web = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.1.0.1, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {containers: [{name: app, image: app}]}
status: {phase: Running, podIP: 10.0.0.9, podIPs: [{ip: 10.0.0.9}]}
`;
const sidecar: Node = create(NodeSchema, {
  id: "sidecar~10.0.0.9~web.shop~shop.svc.cluster.local",
  metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", ISTIO_VERSION: "1.27.0", LABELS: { app: "web" } },
});
const policy = (...jwtRules: readonly object[]): string =>
  JSON.stringify({
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    metadata: { name: "jwt", namespace: "shop" },
    spec: { jwtRules },
  });

const long = { timeout: 30_000, interval: 50 };
const ends: (() => unknown)[] = [];
let provider: OidcProvider;
beforeEach(async () => {
  provider = await OidcProvider.start();
  ends.push(() => provider.close());
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const fast = { PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: "200ms" };

/** The key sets of a listener's JWT filters, in order of the providers. */
function keySetsOf({ filterChains }: Listener): readonly string[] {
  const managers = filterChains.flatMap(({ filters }) => filters.map(({ configType: { value } }) => value as Any));
  return managers.flatMap((manager) => {
    const { httpFilters = [] } = anyUnpack(manager, HttpConnectionManagerSchema) ?? {};
    return httpFilters.flatMap(({ configType: { value } }) => {
      const { providers = {} } = anyUnpack(value as Any, JwtAuthenticationSchema) ?? {};
      return Object.values(providers).map(({ jwksSourceSpecifier: { value: source } }) =>
        source?.$typeName === "envoy.config.core.v3.DataSource" ? String(source.specifier.value) : "",
      );
    });
  });
}

/** Accepts pushes until the inbound listener has exactly these key sets, each in some chain. */
async function untilKeys(stream: XdsClient, expected: readonly string[]): Promise<void> {
  for (;;) {
    const listeners = decoded(ListenerSchema, await stream.accept(listenerType));
    const found = listeners.filter(({ name }) => name === "virtualInbound").flatMap(keySetsOf);
    if (found.length > 0 && JSON.stringify([...new Set(found)]) === JSON.stringify(expected)) return;
  }
}

describe("the keys of a RequestAuthentication", () => {
  it("by URI and by issuer reach the stream of a proxy, and so does their rotation", async () => {
    const other = await OidcProvider.start();
    ends.push(() => other.close());
    const rules = policy({ issuer: "a", jwksUri: provider.jwksUri }, { issuer: other.issuer });
    const root = await folder({ "web.yaml": web, "jwt.yaml": rules });
    const istiod = await serve({ configDir: root }, fast);
    const stream = client(istiod, "delta", sidecar);
    stream.subscribe(listenerType);
    await untilKeys(stream, [provider.jwks, other.jwks]);
    provider.rotate();
    await untilKeys(stream, [provider.jwks, other.jwks]);
    other.rotate();
    await untilKeys(stream, [provider.jwks, other.jwks]);
    // A policy that comes later gets its keys as well.
    await writeFile(join(root, "jwt.yaml"), policy({ issuer: "a", jwksUri: `${other.issuer}/later/jwks` }));
    await untilKeys(stream, [other.jwks]);
    const metrics = await (await fetch(`${istiod.http}/metrics`)).text();
    expect(metrics).toMatch(/pilot_jwks_resolver_network_fetch_success_total [1-9]/);
    expect(metrics).toMatch(/pilot_jwks_resolver_network_fetch_fail_total 0/);
    expect(metrics).toMatch(/istiod_jwks\{state="current"\} 1/);
  }, 90_000);

  it("stay while the provider is down, which istiod status says", async () => {
    const root = await folder({ "web.yaml": web, "jwt.yaml": policy({ issuer: "a", jwksUri: provider.jwksUri }) });
    const istiod = await serve({ configDir: root }, fast);
    const stream = client(istiod, "delta", sidecar);
    stream.subscribe(listenerType);
    const before = provider.jwks;
    await untilKeys(stream, [before]);
    provider.answer("/jwks", (_, response) => void response.writeHead(503).end("secret"));
    provider.rotate();
    const about = async (text: string): Promise<void> => {
      const status = await runStatus(istiod, "RequestAuthentication/shop/jwt");
      expect(status.text).toContain(text);
      expect(status.text).not.toContain("secret");
    };
    const reason = `127.0.0.1:${provider.port} answers with status 503`;
    await vi.waitFor(() => about(`because they cannot be refreshed: ${reason}`), long);
    expect(istiod.lines).toContainEqual(
      expect.objectContaining({ msg: "failed to fetch JWKS, keeping the last keys" }),
    );
    // No push since: the next one has the new keys.
    provider.answer("/jwks");
    const next = decoded(ListenerSchema, await stream.accept(listenerType)).flatMap(keySetsOf);
    expect(new Set(next)).toEqual(new Set([provider.jwks]));
    await vi.waitFor(
      async () => expect((await runStatus(istiod, "RequestAuthentication/shop/jwt")).exit).toBe(statusExits.live),
      long,
    );
  }, 90_000);

  it("that cannot be fetched leave a set that verifies nothing, and are fetched when the provider is there", async () => {
    provider.answer("/jwks", (_, response) => void response.end('{"keys":[]}'));
    const root = await folder({ "web.yaml": web, "jwt.yaml": policy({ issuer: "a", jwksUri: provider.jwksUri }) });
    const istiod = await serve({ configDir: root });
    const stream = client(istiod, "delta", sidecar);
    stream.subscribe(listenerType);
    await untilKeys(stream, [unverifiableJwks]);
    const reason = "the answer has no keys, expected at least one";
    await vi.waitFor(
      () =>
        expect(istiod.lines).toContainEqual(
          expect.objectContaining({
            level: "warn",
            code: "MESH0019",
            object: "RequestAuthentication shop/jwt",
            msg: `the keys of ${provider.jwksUri} cannot be fetched, so that every token of issuer "a" is rejected: ${reason}`,
          }),
        ),
      long,
    );
    expect((await runStatus(istiod, "RequestAuthentication/shop/jwt")).text).toContain(reason);
    provider.answer("/jwks");
    await untilKeys(stream, [provider.jwks]);
    await rm(join(root, "jwt.yaml"));
    await vi.waitFor(
      async () =>
        expect(await (await fetch(`${istiod.http}/metrics`)).text()).toContain('istiod_jwks{state="current"} 0'),
      long,
    );
  }, 90_000);

  it("are not fetched from blocked addresses", async () => {
    const root = await folder({ "web.yaml": web, "jwt.yaml": policy({ issuer: "a", jwksUri: provider.jwksUri }) });
    const istiod = await serve({ configDir: root }, { BLOCKED_CIDRS_IN_JWKS_URIS: "10.0.0.0/8, 127.0.0.0/8" });
    const stream = client(istiod, "delta", sidecar);
    stream.subscribe(listenerType);
    await untilKeys(stream, [unverifiableJwks]);
    await vi.waitFor(
      async () =>
        expect((await runStatus(istiod, "RequestAuthentication/shop/jwt")).text).toContain(
          "127.0.0.1 is in the blocked range 127.0.0.0/8",
        ),
      long,
    );
    expect(provider.requestCount()).toBe(0);
  }, 60_000);
});

it("1,000 policies with 50 URIs cost 50 fetches a period, and a key set that nobody needs is dropped", async () => {
  const database = new Database<Proxy>();
  const { collection } = requestAuthenticationKind;
  const uris = Array.from({ length: 50 }, (_, i) => `https://keys-${i}/`);
  const policyOf = (i: number): unknown => ({
    namespace: `ns-${i}`,
    name: "jwt",
    spec: { jwtRules: [{ issuer: `i-${i}`, jwksUri: uris[i % 50] ?? "", jwks: "" }] },
  });
  for (let i = 0; i < 1000; i++) database.commit((tx) => tx.set(collection, `ns-${i}/jwt`, policyOf(i) as never));
  const timers = new Map<object, { readonly at: number; readonly callback: () => void }>();
  let now = 0;
  const clock: Clock = {
    now: () => now,
    after(delay, callback) {
      const id = {};
      timers.set(id, { at: now + delay, callback });
      return () => void timers.delete(id);
    },
  };
  const advance = async (ms: number): Promise<void> => {
    const end = now + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const [next] = [...timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (next === undefined) break;
      timers.delete(next[0]);
      now = Math.max(now, next[1].at);
      next[1].callback();
    }
    now = end;
  };
  const fetched: string[] = [];
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const demand = new JwksDemand<Proxy>({
    database,
    client: noProxy,
    fetch: ({ jwksUri }) => Promise.resolve(`{"keys":"${jwksUri}${fetched.push(jwksUri) > 0}"}`),
    schedule: refreshSchedule(20 * 60_000),
    clock,
    log: log as never,
  });
  await demand.start();
  expect([...fetched].sort()).toEqual([...uris].sort());
  expect(database.keys(fetchedJwks)).toHaveLength(50);
  for (let period = 2; period <= 5; period++) {
    await advance(20 * 60_000);
    expect(fetched).toHaveLength(50 * period);
  }
  // The last policy of one URI goes, and that of another stays.
  database.commit((tx) => {
    for (let i = 0; i < 1000; i += 50) tx.delete(collection, `ns-${i}/jwt`);
    for (let i = 1; i < 950; i += 50) tx.delete(collection, `ns-${i}/jwt`);
  });
  await advance(1000);
  expect(database.keys(fetchedJwks)).toHaveLength(49);
  expect(database.keys(jwksFetches)).toEqual([]);
  await advance(20 * 60_000);
  expect(fetched).toHaveLength(5 * 50 + 49);
  expect(demand.counts()).toEqual({ current: 49, fetching: 0, failed: 0, stale: 0 });
  demand.stop();
});

it("a refresh that changes nothing changes no revision", async () => {
  const database = new Database<Proxy>();
  database.commit((tx) =>
    tx.set(requestAuthenticationKind.collection, "shop/jwt", {
      namespace: "shop",
      name: "jwt",
      spec: { jwtRules: [{ issuer: "a", jwksUri: "https://keys/", jwks: "" }] },
    } as never),
  );
  let fetches = 0;
  const demand = new JwksDemand<Proxy>({
    database,
    client: noProxy,
    fetch: () => Promise.resolve(`{"keys":${fetches++ < 0}}`),
    schedule: refreshSchedule(5),
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined } as never,
  });
  await demand.start();
  ends.push(() => demand.stop());
  const { revision } = database;
  await vi.waitFor(() => expect(fetches).toBeGreaterThan(10), long);
  expect(database.revision).toBe(revision);
});

it("settings that would leave open what is meant to be closed fail the startup", () => {
  for (const text of ["10.0.0.0/33", "example.com", "10.0.0.0/8,metadata"])
    expect(() => jwksSettings({ BLOCKED_CIDRS_IN_JWKS_URIS: text })).toThrow(
      /^BLOCKED_CIDRS_IN_JWKS_URIS: ".*" is not/,
    );
  expect(() => jwksSettings({ PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: "0s" })).toThrow(/must be more than 0s/);
  expect(jwksSettings({})).toEqual({ refreshIntervalMs: 1_200_000, blockedRanges: [], insecureSkipVerify: false });
});
