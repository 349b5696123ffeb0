import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const objects = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: flaky, namespace: shop}
spec:
  hosts: [flaky]
  http:
  - match: [{uri: {prefix: /retried}}]
    route: [{destination: {host: flaky}}]
    retries: {attempts: 3, perTryTimeout: 2s, retryOn: "503", backoff: 10ms}
  - match: [{uri: {prefix: /not-retried}}]
    route: [{destination: {host: flaky}}]
    retries: {attempts: 0}
  - match: [{uri: {prefix: /slow}}]
    route: [{destination: {host: flaky}}]
    timeout: 200ms
  - match: [{uri: {prefix: /aborted}}]
    fault: {abort: {httpStatus: 555, percentage: {value: 100}}}
    route: [{destination: {host: flaky}}]
  - match: [{uri: {prefix: /half-aborted}}]
    fault: {abort: {httpStatus: 555, percentage: {value: 50}}}
    route: [{destination: {host: flaky}}]
  - match: [{uri: {prefix: /delayed}}]
    fault: {delay: {fixedDelay: 300ms, percentage: {value: 100}}}
    route: [{destination: {host: flaky}}]
  - route: [{destination: {host: flaky}}]
`;

describe("resilience", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  let failuresLeft = 0;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      objects,
      workloads: [
        { app: "client" },
        {
          app: "flaky",
          answer: ({ path }) =>
            path.startsWith("/slow") ? { afterMs: 1500 } : failuresLeft-- > 0 ? { status: 503 } : {},
        },
      ],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  const asked = (path: string): number => mesh.seen("flaky").filter((s) => s.path === path).length;

  it("a failed request is tried again, unseen by the client", async () => {
    failuresLeft = 3;
    expect((await mesh.call("client", "http://flaky:8000/retried/a")).status).toBe(200);
    expect(asked("/retried/a")).toBe(4);
    failuresLeft = 4;
    expect((await mesh.call("client", "http://flaky:8000/retried/b")).status).toBe(503);
    expect(asked("/retried/b")).toBe(4);
    failuresLeft = 0;
  });

  it("a failed request is not tried again where there are no retries", async () => {
    failuresLeft = 1;
    expect((await mesh.call("client", "http://flaky:8000/not-retried")).status).toBe(503);
    expect(asked("/not-retried")).toBe(1);
  });

  it("a failed request is not tried again by default where the server answered with a mere error", async () => {
    failuresLeft = 1;
    expect((await mesh.call("client", "http://flaky:8000/default")).status).toBe(503);
    expect(asked("/default")).toBe(1);
    failuresLeft = 0;
  });

  it("a slow answer is cut off", async () => {
    const { status, text } = await mesh.call("client", "http://flaky:8000/slow");
    expect([status, text]).toEqual([504, "upstream request timeout"]);
  });

  it("a fault is seen by the client and not by the server", async () => {
    const { status, text } = await mesh.call("client", "http://flaky:8000/aborted");
    expect([status, text]).toEqual([555, "fault filter abort"]);
    expect(asked("/aborted")).toBe(0);
  });

  it("a fault strikes as often as it should", async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => mesh.call("client", "http://flaky:8000/half-aborted")),
    );
    const struck = answers.filter((a) => a.status === 555).length;
    expect(struck).toBeGreaterThan(70);
    expect(struck).toBeLessThan(130);
    expect(answers.every((a) => a.status === 555 || a.status === 200)).toBe(true);
  });

  it("a delay is felt", async () => {
    const { status, ms } = await mesh.call("client", "http://flaky:8000/delayed");
    expect(status).toBe(200);
    expect(ms).toBeGreaterThanOrEqual(300);
  });

  it("comes from what the proxies accepted whole", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
