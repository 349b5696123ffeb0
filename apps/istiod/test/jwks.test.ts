import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { JwtAuthenticationSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/jwt_authn/v3/config";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { statusExits } from "@istiod/replicas";
import { OidcProvider } from "@istiod/jwks/testing";
import { unverifiableJwks } from "@istiod/push-context";
import { listenerType } from "@istiod/xds-server";
import type { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { jwksSettings } from "../src/jwks/jwks-settings.js";
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

it("settings that would leave open what is meant to be closed fail the startup", () => {
  for (const text of ["10.0.0.0/33", "example.com", "10.0.0.0/8,metadata"])
    expect(() => jwksSettings({ BLOCKED_CIDRS_IN_JWKS_URIS: text })).toThrow(
      /^BLOCKED_CIDRS_IN_JWKS_URIS: ".*" is not/,
    );
  expect(() => jwksSettings({ PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: "0s" })).toThrow(/must be more than 0s/);
  expect(jwksSettings({})).toEqual({ refreshIntervalMs: 1_200_000, blockedRanges: [], insecureSkipVerify: false });
});
