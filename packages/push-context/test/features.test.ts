import { query } from "@istiod/incremental";
import { describe, expect, it } from "vitest";
import { features, mesh as settings } from "../src/index.js";
import { TestMesh } from "./mesh.js";

const jitter = query("test.jitter", (q) => features.dnsJitter(q));
const dualStack = query("test.dualStack", (q) => features.dualStack(q));
const queries = query("test.queries", (q) => features.dnsCaresUdpMaxQueries(q));
const hbone = query("test.hbone", (q) => features.sendHbone(q));
const suffix = query("test.suffix", (q) => features.domainSuffix(q));
const labels = query("test.labels", (q) => features.metadataExchangeAdditionalLabels(q));

describe("an environment variable", () => {
  it("has its default if it is unset or cannot be parsed", () => {
    const mesh = new TestMesh();
    expect([mesh.client().ask(jitter), mesh.client().ask(dualStack), mesh.client().ask(queries)]).toEqual([
      100,
      false,
      100,
    ]);
    mesh
      .set("PILOT_DNS_JITTER_DURATION", "soon")
      .set("ISTIO_DUAL_STACK", "yes")
      .set("PILOT_DNS_CARES_UDP_MAX_QUERIES", "1.5");
    expect([mesh.client().ask(jitter), mesh.client().ask(dualStack), mesh.client().ask(queries)]).toEqual([
      100,
      false,
      100,
    ]);
  });

  it.each([
    ["250ms", 250],
    ["1m30.5s", 90_500],
    ["0", 0],
    ["1h", 3_600_000],
    ["-1s", -1000],
  ])("reads the duration %s", (text, ms) => {
    expect(new TestMesh().set("PILOT_DNS_JITTER_DURATION", text).client().ask(jitter)).toBe(ms);
  });

  it.each([
    ["1", true],
    ["T", true],
    ["TRUE", true],
    ["false", false],
  ])("reads the boolean %s", (text, value) => {
    expect(new TestMesh().set("ISTIO_DUAL_STACK", text).client().ask(dualStack)).toBe(value);
  });

  it("of ambient mode is read only in ambient mode, with its own default", () => {
    const mesh = new TestMesh().set("PILOT_ENABLE_SENDING_HBONE", "true");
    expect(mesh.client().ask(hbone)).toBe(false);
    mesh.set("PILOT_ENABLE_AMBIENT", "true");
    expect(mesh.client().ask(hbone)).toBe(true);
    mesh.set("PILOT_ENABLE_SENDING_HBONE", "false");
    expect(mesh.client().ask(hbone)).toBe(false);
  });

  it("that holds a name counts as unset if it is empty", () => {
    expect(new TestMesh().set("DOMAIN_SUFFIX", "").client().ask(suffix)).toBe("cluster.local");
  });

  it("with a list is sorted and deduplicated", () => {
    expect(new TestMesh().set("PILOT_MX_ADDITIONAL_LABELS", "b,a,b").client().ask(labels)).toEqual(["a", "b"]);
  });
});

describe("mesh configuration", () => {
  const domain = query("test.trustDomain", (q) => settings(q).trustDomain);

  it("has defaults", () => {
    expect(new TestMesh().client().ask(domain)).toBe("cluster.local");
  });

  it("is read by field: a change of another field recomputes nothing", () => {
    const mesh = new TestMesh("", { trustDomain: "td" });
    const client = mesh.client();
    let runs = 0;
    const counted = query("test.counted", (q) => {
      runs++;
      return settings(q).trustDomain;
    });
    expect(client.ask(counted)).toBe("td");
    mesh.configure({ trustDomain: "td", rootNamespace: "root" });
    expect(client.ask(counted)).toBe("td");
    expect(runs).toBe(1);
    mesh.configure({ trustDomain: "other" });
    expect(client.ask(counted)).toBe("other");
    expect(runs).toBe(2);
  });
});
