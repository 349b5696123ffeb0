import {
  applyMeshConfig,
  meshConfig,
  meshConfigKey,
  type ObjectOfOtherRevision,
  otherRevisions,
  virtualServiceKind,
  virtualServices,
} from "@istiod/config-schema";
import type { Collection } from "@istiod/incremental";
import { formatStatus, isIneffective, isLive, parseName, StatusCache } from "@istiod/push-report";
import { type ReceivedResponse, XdsClient } from "@istiod/xds-server/testing";
import { beforeEach, describe, expect, it, test } from "vitest";
import { ToyMesh, toyType, virtualService } from "./toy-mesh.js";

describe.each(["delta", "sotw"] as const)("on %s", (variant) => {
  let now: { at: number; timers: (() => void)[] };
  let mesh: ToyMesh;
  let web: XdsClient;
  let api: XdsClient;

  beforeEach(async () => {
    now = { at: 1000, timers: [] };
    mesh = new ToyMesh(now);
    mesh.commit(virtualService("shop/cart", "1s") + virtualService("pay/card", "1s"));
    web = new XdsClient(mesh.server, { variant, node: "web.shop" });
    api = new XdsClient(mesh.server, { variant, node: "api.pay" });
    for (const client of [web, api]) {
      client.subscribe(toyType);
      await client.accept(toyType);
      await client.settled();
    }
  });

  it("reports the proxies, resources and times of a change", async () => {
    const { revision } = mesh.commit(virtualService("shop/cart", "2s"));
    const response = await web.next(toyType);
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 1, responses: 1, resources: 1, pending: 1, acks: 0 });
    now.at += 40;
    web.ack(response);
    await web.settled();
    await api.settled();
    const report = mesh.log.report(revision);
    expect(report).toMatchObject({
      revision,
      at: 1000,
      objects: [{ kind: "VirtualService", namespace: "shop", name: "cart" }],
      proxies: 1,
      responses: 1,
      removed: 0,
      firstSentMs: 0,
      firstAckMs: 40,
      lastAckMs: 40,
      acks: 1,
      nackCount: 0,
      pending: 0,
    });
    expect(report?.bytes).toBeGreaterThan(10);
    expect(report?.types[toyType]).toEqual({ responses: 1, resources: 1, bytes: report?.bytes });
    now.at += 200;
    now.timers.splice(0).forEach((fire) => fire());
    expect(mesh.settled.at(-1)).toEqual(report);
  });

  it("counts the proxies that acknowledged all responses that show a change", async () => {
    const { revision } = mesh.commit(virtualService("shop/cart", "2s") + virtualService("pay/card", "2s"));
    const toWeb = await web.next(toyType);
    const toApi = await api.next(toyType);
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 2, proxiesAcknowledged: 0 });
    web.ack(toWeb);
    await web.settled();
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 2, proxiesAcknowledged: 1 });
    api.nack(toApi, "pay/card: too long");
    await api.settled();
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 2, proxiesAcknowledged: 1, pending: 0 });
    now.at += 200;
    now.timers.splice(0).forEach((fire) => fire());
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 2, proxiesAcknowledged: 1 });
  });

  it("does not count a proxy that disconnected without an ACK as acknowledged", async () => {
    const { revision } = mesh.commit(virtualService("shop/cart", "2s"));
    await web.next(toyType);
    web.close();
    await expect.poll(() => mesh.log.report(revision)?.pending).toBe(0);
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 1, proxiesAcknowledged: 0 });
  });

  it("reports that an object belongs to another revision", async () => {
    const others = otherRevisions.get(virtualServiceKind) as Collection<ObjectOfOtherRevision>;
    const other = { namespace: "shop", name: "old", revision: "stable", own: "canary" };
    mesh.database.commit((tx) => tx.set(others, "shop/old", other));
    const status = await mesh.status("VirtualService/shop/old");
    expect(formatStatus(status)).toBe(
      'VirtualService/shop/old: has no effect: it belongs to revision "stable" (label istio.io/rev), and this istiod is revision "canary"',
    );
    expect([isIneffective(status), isLive(status)]).toEqual([true, false]);
  });

  it("reports why objects of a kind are not read, and does not wait for them", async () => {
    const status = await mesh.status("GRPCRoute/shop/cart");
    expect(formatStatus(status)).toBe("GRPCRoute/shop/cart: not read: CRD grpcroutes is too old");
    expect([isIneffective(status), isLive(status)]).toEqual([true, false]);
    const absent = await mesh.status("VirtualService/shop/none");
    expect(formatStatus(absent)).toBe("VirtualService/shop/none: not found");
    expect(isIneffective(absent)).toBe(false);
  });

  it("forgets a cached reason when the kind is read again, without a commit", async () => {
    let reason: string | undefined = "CRD grpcroutes is too old";
    const cache = new StatusCache({ ...mesh.statusSources(), reasonUnread: () => reason });
    const formatted = async (): Promise<readonly string[]> =>
      (await cache.statusesOf([parseName("GRPCRoute/shop/cart")])).map((status) => formatStatus(status));
    expect(await formatted()).toEqual(["GRPCRoute/shop/cart: not read: CRD grpcroutes is too old"]);
    reason = undefined;
    expect(await formatted()).toEqual(["GRPCRoute/shop/cart: not found"]);
    reason = "CRD grpcroutes is older";
    expect(await formatted()).toEqual(["GRPCRoute/shop/cart: not read: CRD grpcroutes is older"]);
  });

  it("reports that an object in an undiscovered namespace has no effect", async () => {
    const selecting = applyMeshConfig(
      { discoverySelectors: [{ matchLabels: { mesh: "on" } }] },
      { warning: console.warn, error: console.error },
    );
    mesh.database.commit((tx) => selecting && tx.set(meshConfig, meshConfigKey, selecting));
    mesh.commit("{apiVersion: v1, kind: Namespace, metadata: {name: pay, labels: {mesh: 'on'}}}");
    expect(formatStatus(await mesh.status("VirtualService/shop/cart"))).toBe(
      "VirtualService/shop/cart: has no effect: no discoverySelector of the mesh configuration selects namespace shop of cluster Kubernetes",
    );
    const hidden = await mesh.status("VirtualService/shop/cart");
    expect(hidden).toMatchObject({ found: true, connected: 2, reached: 0, live: 0 });
    expect(isIneffective(hidden)).toBe(true);
    const seen = await mesh.status("VirtualService/pay/card");
    expect(seen).toMatchObject({ found: true, reached: 1 });
    expect([seen.noEffect, isIneffective(seen)]).toEqual([undefined, false]);
  });

  it("reports that an object of a kind without effect has no effect, with the reason", async () => {
    mesh.commit(
      "{apiVersion: extensions.istio.io/v1alpha1, kind: WasmPlugin, metadata: {name: a, namespace: shop}, spec: {url: 'oci://a/b'}}",
    );
    const status = await mesh.status("WasmPlugin/shop/a");
    expect(formatStatus(status)).toBe("WasmPlugin/shop/a: has no effect: nobody sends extensions");
    expect(isIneffective(status)).toBe(true);
  });

  it("reports an object that registration or injection reads as live, with its effect", async () => {
    mesh.commit(`---
{apiVersion: networking.istio.io/v1, kind: WorkloadGroup, metadata: {name: vm, namespace: shop}, spec: {template: {serviceAccount: vm}}}
---
{apiVersion: networking.istio.io/v1beta1, kind: ProxyConfig, metadata: {name: a, namespace: shop}, spec: {concurrency: 1}}
`);
    const group = await mesh.status("WorkloadGroup/shop/vm");
    expect(formatStatus(group)).toBe("WorkloadGroup/shop/vm: applies to the workloads that register from now on");
    const config = await mesh.status("ProxyConfig/shop/a");
    expect(formatStatus(config)).toBe("ProxyConfig/shop/a: applies to the Pods that are injected from now on");
    for (const status of [group, config]) expect([isLive(status), isIneffective(status)]).toEqual([true, false]);
  });

  it("reports an object as ineffective if it reaches no proxy after all have settled", async () => {
    mesh.commit(virtualService("lost/cart", "1s"));
    const unsettled = await mesh.status("VirtualService/lost/cart", { sliceMs: Infinity });
    expect([unsettled.settling, isIneffective(unsettled)]).toEqual([2, false]);
    await expect.poll(async () => (await mesh.status("VirtualService/lost/cart")).settling).toBe(0);
    const status = await mesh.status("VirtualService/lost/cart");
    expect(formatStatus(status)).toBe("VirtualService/lost/cart: reaches none of 2 connected proxies");
    expect([isLive(status), isIneffective(status)]).toEqual([false, true]);
    mesh.commit(virtualService("shop/cart", "2s"));
    const response = await web.next(toyType);
    // The other proxy settles without a response.
    await expect.poll(async () => (await mesh.status("VirtualService/lost/cart")).settling).toBe(1);
    const meanwhile = await mesh.status("VirtualService/lost/cart");
    expect(formatStatus(meanwhile)).toBe(
      "VirtualService/lost/cart: reaches none of 2 connected proxies yet; 1 still settling",
    );
    expect([isLive(meanwhile), isIneffective(meanwhile)]).toEqual([false, false]);
    web.nack(response, "no");
    await expect.poll(async () => isIneffective(await mesh.status("VirtualService/lost/cart"))).toBe(true);
    web.close();
    await expect.poll(() => mesh.server.connections().length).toBe(1);
    expect(formatStatus(await mesh.status("VirtualService/lost/cart"))).toBe(
      "VirtualService/lost/cart: reaches none of 1 connected proxy",
    );
    api.close();
    await expect.poll(() => mesh.server.connections().length).toBe(0);
    const alone = await mesh.status("VirtualService/lost/cart");
    expect(formatStatus(alone)).toBe("VirtualService/lost/cart: no proxy is connected");
    expect([isLive(alone), isIneffective(alone)]).toEqual([false, false]);
  });

  it("counts an object as live on the proxies that acknowledged it", async () => {
    expect(formatStatus(await mesh.status("VirtualService/shop/cart"))).toBe(
      "VirtualService/shop/cart: live on 1 of 1 proxy",
    );
    mesh.commit(virtualService("shop/cart", "2s"));
    const response = await web.next(toyType);
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      found: true,
      revision: 2,
      reached: 1,
      live: 0,
      missing: [{ proxy: "web.shop", reason: "not acknowledged", typeUrl: toyType, resources: ["shop/cart"] }],
    });
    expect(await mesh.status("VirtualService/pay/card")).toMatchObject({ reached: 1, live: 1 });
    web.ack(response);
    await web.settled();
    expect(await mesh.status("virtualservice/shop/cart")).toMatchObject({ reached: 1, live: 1, missing: [] });
  });

  it("ignores an unacknowledged change of another object", async () => {
    mesh.commit(virtualService("shop/cart", "2s"));
    await web.accept(toyType);
    mesh.commit(virtualService("shop/other", "2s"));
    await web.next(toyType);
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ reached: 1, live: 1 });
    expect(await mesh.status("VirtualService/shop/other")).toMatchObject({ reached: 1, live: 0 });
  });

  it("reports a rejection with its message until the resource is replaced and accepted", async () => {
    const { revision } = mesh.commit(virtualService("shop/cart", "3s"));
    web.nack(await web.next(toyType), "shop/cart: too long");
    await web.settled();
    expect(mesh.log.report(revision)).toMatchObject({
      nackCount: 1,
      nacks: [{ proxy: "web.shop", resources: ["shop/cart"], message: "shop/cart: too long" }],
      pending: 0,
    });
    const rejected = {
      live: 0,
      rejected: 1,
      missing: [{ reason: "rejected", message: "too long", resources: ["shop/cart"] }],
    };
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject(rejected);
    mesh.commit(virtualService("shop/other", "1s"));
    await web.accept(toyType);
    await web.settled();
    // The response has the last accepted version, if it lists everything.
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject(rejected);
    mesh.commit(virtualService("shop/cart", "2s"));
    await web.accept(toyType);
    await web.settled();
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ reached: 1, live: 1, rejected: 0 });
  });

  it("calls no resource of a response rejected that the NACK does not name, and none live until it was sent alone", async () => {
    const { revision } = mesh.commit(virtualService("shop/cart", "3s") + virtualService("shop/till", "4s"));
    web.nack(await web.next(toyType), "no");
    const first = await web.next(toyType);
    const pending = { live: 0, rejected: 0, missing: [{ proxy: "web.shop", reason: "not acknowledged" }] };
    for (const name of ["cart", "till"])
      expect(await mesh.status(`VirtualService/shop/${name}`)).toMatchObject(pending);
    const rest = variant === "delta" ? await web.next(toyType) : undefined;
    web.nack(first, "no");
    await web.settled().then(async ([second = rest]) => web.ack(second as ReceivedResponse));
    await web.settled();
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      live: 0,
      rejected: 1,
      missing: [{ proxy: "web.shop", reason: "rejected", message: "no", resources: ["shop/cart"] }],
    });
    expect(await mesh.status("VirtualService/shop/till")).toMatchObject({ reached: 1, live: 1, rejected: 0 });
    expect(mesh.log.report(revision)).toMatchObject({ proxies: 1, proxiesAcknowledged: 0, pending: 0, nackCount: 2 });
    mesh.commit(virtualService("shop/cart", "2s"));
    await web.accept(toyType);
    await web.settled();
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ reached: 1, live: 1, rejected: 0 });
  });

  it("reports the message of a NACK for the valid resources of the same response", async () => {
    mesh.commit(virtualService("shop/cart", "3s") + virtualService("shop/till", "4s"));
    web.nack(await web.next(toyType), "shop/cart: too long");
    await web.settled();
    expect(await mesh.status("VirtualService/shop/till")).toMatchObject({
      live: 0,
      rejected: 0,
      missing: [
        {
          reason: "not acknowledged",
          resources: ["shop/till"],
          message: "another resource of the response was rejected: shop/cart: too long",
        },
      ],
    });
  });

  it("counts the proxies that acknowledged a deletion", async () => {
    const status = async (): Promise<string> => formatStatus(await mesh.status("VirtualService/shop/cart"));
    const { revision } = mesh.delete("shop/cart");
    // The affected proxies are known once each has had its turn.
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      found: false,
      revision,
      reached: 2,
      live: 0,
      missing: [
        { proxy: "web.shop", reason: "not sent" },
        { proxy: "api.pay", reason: "not sent" },
      ],
    });
    const response = await web.next(toyType);
    await api.settled();
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      found: false,
      revision,
      reached: 1,
      live: 0,
      missing: [{ proxy: "web.shop", reason: "not acknowledged", typeUrl: toyType }],
    });
    expect(await status()).toBe("VirtualService/shop/cart: deleted, gone from 0 of 1 proxy");
    web.nack(response, "I need it");
    await web.settled();
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      live: 0,
      rejected: 1,
      missing: [{ proxy: "web.shop", reason: "rejected", message: "I need it" }],
    });
    mesh.commit(virtualService("shop/other", "1s"));
    await web.accept(toyType);
    await web.settled();
    if (variant === "delta") {
      // The removal is sent again after a moment.
      expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ live: 0, rejected: 1 });
      expect((await web.accept(toyType)).removed).toEqual(["shop/cart"]);
      await web.settled();
    }
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      found: false,
      reached: 1,
      live: 1,
      rejected: 0,
      missing: [],
    });
    expect(await status()).toBe("VirtualService/shop/cart: deleted, gone from 1 of 1 proxy");
    expect(formatStatus(await mesh.status("VirtualService/shop/never"))).toBe("VirtualService/shop/never: not found");
  });

  it("does not wait for a proxy that disconnected before it was sent a deletion", async () => {
    mesh.delete("shop/cart");
    await web.next(toyType);
    web.close();
    await api.settled();
    await expect.poll(async () => (await mesh.status("VirtualService/shop/cart")).missing).toEqual([]);
  });

  describe("with changes that are merged for a slow client", () => {
    let [blocking, first, other, second] = [0, 0, 0, 0];

    beforeEach(async () => {
      web.pause(true);
      blocking = mesh.commit(virtualService("shop/bulk", "1s")).revision;
      await turn();
      first = mesh.commit(virtualService("shop/cart", "5s")).revision;
      other = mesh.commit(virtualService("pay/card", "6s")).revision;
      second = mesh.commit(virtualService("shop/other", "7s")).revision;
      await turn();
    });

    it("counts an ACK for each change that the response shows, and for no other", async () => {
      for (const revision of [first, second])
        expect(mesh.log.report(revision)).toMatchObject({ proxies: 0, acks: 0, pending: 0 });
      expect(mesh.log.report(other)).toMatchObject({ proxies: 1 });
      expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
        reached: 1,
        live: 0,
        missing: [{ reason: "not sent" }],
      });
      web.pause(false);
      const bulky = await web.next(toyType);
      const merged = await web.next(toyType);
      for (const revision of [first, second])
        expect(mesh.log.report(revision)).toMatchObject({ proxies: 1, responses: 1, acks: 0, pending: 1 });
      web.ack(bulky);
      await web.settled();
      expect(mesh.log.report(blocking)).toMatchObject({ proxies: 1, acks: 1, pending: 0 });
      for (const revision of [first, second]) expect(mesh.log.report(revision)).toMatchObject({ acks: 0, pending: 1 });
      expect(await mesh.status("VirtualService/shop/bulk")).toMatchObject({ reached: 1, live: 1 });
      for (const name of ["cart", "other"])
        expect(await mesh.status(`VirtualService/shop/${name}`)).toMatchObject({
          live: 0,
          missing: [{ reason: "not acknowledged" }],
        });
      now.at += 70;
      web.ack(merged);
      await web.settled();
      for (const revision of [first, second])
        expect(mesh.log.report(revision)).toMatchObject({
          proxies: 1,
          responses: 1,
          acks: 1,
          firstAckMs: 70,
          lastAckMs: 70,
          pending: 0,
        });
      for (const name of ["cart", "other"])
        expect(await mesh.status(`VirtualService/shop/${name}`)).toMatchObject({ reached: 1, live: 1, missing: [] });
      expect(mesh.log.report(other)).toMatchObject({ proxies: 1, responses: 1 });
    });

    it("counts a NACK for each merged change, and for the rejected object", async () => {
      web.pause(false);
      web.ack(await web.next(toyType));
      const merged = await web.next(toyType);
      web.nack(merged, "shop/cart: no");
      web.ack(await web.next(toyType));
      await web.settled();
      for (const revision of [first, second])
        expect(mesh.log.report(revision)).toMatchObject({ nackCount: 1, acks: 1, proxiesAcknowledged: 0, pending: 0 });
      expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ live: 0, rejected: 1 });
    });

    it("settles no change before the slow client has answered", async () => {
      api.ack(await api.next(toyType));
      await api.settled();
      const fire = (): void => {
        now.at += 1000;
        now.timers.splice(0).forEach((timer) => timer());
      };
      fire();
      expect(mesh.settled.filter(({ revision }) => revision >= blocking)).toEqual([]);
      web.pause(false);
      web.ack(await web.next(toyType));
      web.ack(await web.next(toyType));
      await web.settled();
      await turn();
      fire();
      expect(mesh.settled.slice(-4).map(({ revision, proxies, acks }) => ({ revision, proxies, acks }))).toEqual(
        [blocking, first, other, second].map((revision) => ({ revision, proxies: 1, acks: 1 })),
      );
    });
  });

  it("counts an object as live while other changes are unacknowledged, and after a rejected version is replaced", async () => {
    const one = mesh.commit(virtualService("shop/cart", "2s")).revision;
    const first = await web.next(toyType);
    const two = mesh.commit(virtualService("shop/cart", "3s")).revision;
    const second = await web.next(toyType);
    web.nack(first, "shop/cart: too short");
    await web.settled();
    expect(mesh.log.report(one)).toMatchObject({ nackCount: 1, pending: 0 });
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({
      live: 0,
      rejected: 0,
      missing: [{ reason: "not acknowledged" }],
    });
    web.ack(second);
    await web.settled();
    expect(mesh.log.report(two)).toMatchObject({ acks: 1, pending: 0 });
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ live: 1, rejected: 0 });
  });

  it("counts an object as live if a proxy acknowledged it on connecting, whatever is in flight", async () => {
    const late = new XdsClient(mesh.server, { variant, node: "late.shop" });
    late.subscribe(toyType);
    await late.accept(toyType);
    await late.settled();
    mesh.commit(virtualService("shop/other", "2s"));
    await late.next(toyType);
    web.ack(await web.next(toyType));
    await web.settled();
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ reached: 2, live: 2 });
    expect(await mesh.status("VirtualService/shop/other")).toMatchObject({
      reached: 2,
      live: 1,
      missing: [{ proxy: "late.shop" }],
    });
    late.close();
  });

  it("does not wait for a client that disconnected", async () => {
    const { revision } = mesh.commit(virtualService("shop/cart", "2s"));
    await web.next(toyType);
    web.close();
    await api.settled();
    expect(mesh.log.report(revision)).toMatchObject({ pending: 0, acks: 0 });
    expect(await mesh.status("VirtualService/shop/cart")).toMatchObject({ reached: 0, live: 0 });
  });
});

async function turn(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

test("parseName parses object names and describes invalid ones", () => {
  expect(parseName("deployment/shop/cart")).toEqual({ kind: "Deployment", namespace: "shop", name: "cart" });
  expect(parseName("namespace/shop")).toEqual({ kind: "Namespace", namespace: "", name: "shop" });
  expect(() => parseName("Service/cart")).toThrow("Service/cart: expected Service/NAMESPACE/NAME");
  expect(() => parseName("Cart/a/b")).toThrow(
    /^Cart\/a\/b: there is no kind Cart; known kinds: AuthorizationPolicy, BackendTLSPolicy, ConfigMap, /,
  );
  expect(() => parseName("VirtualServce/a/b")).toThrow(
    new Error("VirtualServce/a/b: there is no kind VirtualServce; did you mean VirtualService?"),
  );
});

describe("a slow status computation", () => {
  const clients = 20;
  let mesh: ToyMesh;
  let fleet: XdsClient[];

  const joined = async (node: string): Promise<XdsClient> => {
    const client = new XdsClient(mesh.server, { variant: "delta", node });
    client.subscribe(toyType);
    await client.accept(toyType);
    await client.settled();
    return client;
  };

  beforeEach(async () => {
    mesh = new ToyMesh({ at: 1000, timers: [] });
    mesh.commit(virtualService("shop/cart", "1s") + virtualService("pay/card", "1s"));
    fleet = [];
    for (let i = 0; i < clients; i++) fleet.push(await joined(`web-${i}.shop`));
  });

  it("yields between proxies and returns the final state", async () => {
    let turns = 0;
    let late: XdsClient | undefined;
    const status = await mesh.status("VirtualService/shop/cart", {
      sliceMs: 0,
      yieldTurn: async () => {
        if (++turns === 3) late = await joined("late.shop");
        if (turns === 4) fleet[0]?.close();
        if (turns === 5) await late?.settled();
      },
    });
    expect(late).toBeDefined();
    expect(turns).toBeGreaterThanOrEqual(clients);
    expect(status).toMatchObject({ reached: clients, live: clients });
  });

  it("starts over after a commit", async () => {
    let turns = 0;
    const status = await mesh.status("VirtualService/shop/cart", {
      sliceMs: 0,
      yieldTurn: async () => {
        if (++turns === 7) mesh.commit(virtualService("shop/cart", "2s"));
        await Promise.resolve();
      },
    });
    expect(turns).toBeGreaterThanOrEqual(7 + clients);
    expect(status.revision).toBe(mesh.database.revision);
    expect(status).toMatchObject({ reached: clients, live: 0 });
    expect(status.missing.length).toBe(clients);
  });

  it("reports an object as not found if it is deleted meanwhile", async () => {
    let taken = false;
    const turn = async (): Promise<void> => {
      if (!taken) mesh.database.commit((tx) => tx.delete(virtualServices, "shop/cart"));
      taken = true;
      await Promise.resolve();
    };
    expect(await mesh.status("VirtualService/shop/cart", { sliceMs: 0, yieldTurn: turn })).toMatchObject({
      found: false,
      reached: 0,
    });
  });

  it("finishes under continuous commits, with the last revision", async () => {
    let seconds = 1;
    const turn = async (): Promise<void> => {
      mesh.commit(virtualService("pay/card", `${(++seconds % 100) + 1}s`));
      await Promise.resolve();
    };
    const { revision } = mesh.database;
    expect(await mesh.status("VirtualService/shop/cart", { sliceMs: 0, yieldTurn: turn })).toMatchObject({
      reached: clients,
      live: clients,
    });
    expect(mesh.database.revision).toBeGreaterThan(revision);
    expect(await mesh.status("VirtualService/pay/card", { sliceMs: 0, yieldTurn: turn })).toMatchObject({
      found: true,
      reached: 0,
    });
  });

  it("yields by default after some milliseconds", async () => {
    let served = false;
    setImmediate(() => (served = true));
    await mesh.status("VirtualService/shop/cart", { sliceMs: 0 });
    expect(served).toBe(true);
  });
});
