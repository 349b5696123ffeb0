import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inTurn } from "../src/certificates/issuance.js";
import { measureArrivals, type ArrivalRow } from "../src/certificates/measurements.js";
import { CertificateRig } from "../src/certificates/rig.js";

describe("an istiod with a plugged-in CA of three levels", () => {
  let rig: CertificateRig;
  beforeAll(async () => {
    const mesh = { services: 2, namespaces: 1, endpoints: 1, proxies: 2, gatewayRoutes: 0, seed: 1 };
    rig = await CertificateRig.start({ mesh, authority: "plugged-in", key: "P-256" });
  }, 120_000);
  afterAll(() => rig?.close());

  const order = (tokens: readonly string[]) => ({
    kind: "issuance" as const,
    target: rig.istiod.xds,
    count: 7,
    parallel: 3,
    requests: rig.requests,
    tokens,
  });

  test.each(["each", 2] as const)("issues all certificates, connections: %s", async (connections) => {
    const tokens = rig.agents.map(({ token }) => token);
    const { certificates, failures, cpuSeconds, peakRss, readyMs } = await rig.measure({
      ...order(tokens),
      connections,
    });
    expect([certificates.length, failures]).toEqual([7, {}]);
    for (const figure of [...certificates, cpuSeconds, peakRss, readyMs]) expect(figure).toBeGreaterThan(0);
    expect(readyMs).toBeLessThan(Infinity);
  });

  test("issues none to a caller with another token, and the report has the reason", async () => {
    const { certificates, failures } = await rig.measure({ ...order(["not-a-token-of-istiod"]), connections: "each" });
    expect([certificates, failures]).toEqual([[], { "gRPC status 16: request authenticate failure": 7 }]);
  });
});

test("agents that arrive have a certificate over TLS, and their configuration in both ways", async () => {
  const rows: ArrivalRow[] = [];
  await measureArrivals(5, (row) => rows.push(row));
  expect(
    rows.map(({ transport, measured: { certificates, configured, failures } }) => ({
      transport,
      certificates: certificates.length,
      configured: configured.length,
      failures,
    })),
  ).toEqual([
    { transport: "plaintext", certificates: 0, configured: 5, failures: {} },
    { transport: "TLS", certificates: 5, configured: 5, failures: {} },
  ]);
}, 180_000);

test("values are used in turns, and there must be one", () => {
  expect([0, 1, 2, 3].map((at) => inTurn(["a", "b"], at))).toEqual(["a", "b", "a", "b"]);
  expect(() => inTurn([], 0)).toThrow(RangeError);
});
