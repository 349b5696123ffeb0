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
    fault: {delay: {fixedDelay: 2s, percentage: {value: 100}}}
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

  const seen = (path: string): number => mesh.seen("flaky").filter((request) => request.path === path).length;

  it("a failed request is retried without the client noticing", async () => {
    failuresLeft = 3;
    expect((await mesh.call("client", "http://flaky:8000/retried/a")).status).toBe(200);
    expect(seen("/retried/a")).toBe(4);
    failuresLeft = 4;
    expect((await mesh.call("client", "http://flaky:8000/retried/b")).status).toBe(503);
    expect(seen("/retried/b")).toBe(4);
    failuresLeft = 0;
  });

  it("a failed request is not retried with zero attempts", async () => {
    failuresLeft = 1;
    expect((await mesh.call("client", "http://flaky:8000/not-retried")).status).toBe(503);
    expect(seen("/not-retried")).toBe(1);
  });

  it("a response with status 503 is not retried by default", async () => {
    failuresLeft = 1;
    expect((await mesh.call("client", "http://flaky:8000/default")).status).toBe(503);
    expect(seen("/default")).toBe(1);
    failuresLeft = 0;
  });

  it("a slow response times out", async () => {
    const { status, text } = await mesh.call("client", "http://flaky:8000/slow");
    expect([status, text]).toEqual([504, "upstream request timeout"]);
  });

  it("an abort reaches the client and not the server", async () => {
    const { status, text } = await mesh.call("client", "http://flaky:8000/aborted");
    expect([status, text]).toEqual([555, "fault filter abort"]);
    expect(seen("/aborted")).toBe(0);
  });

  it("an abort of 50% hits about half of the requests", async () => {
    // 100 of 200 are expected, with a standard deviation of 7.
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => mesh.call("client", "http://flaky:8000/half-aborted")),
    );
    const aborted = answers.filter((a) => a.status === 555).length;
    expect(aborted).toBeGreaterThan(70);
    expect(aborted).toBeLessThan(130);
    expect(answers.every((a) => a.status === 555 || a.status === 200)).toBe(true);
  });

  it("a delayed request reaches the server after requests that were sent later", async () => {
    const delayed = mesh.call("client", "http://flaky:8000/delayed");
    const later = ["/later/1", "/later/2", "/later/3"];
    for (const path of later) expect((await mesh.call("client", `http://flaky:8000${path}`)).status).toBe(200);
    expect((await delayed).status).toBe(200);
    const order = mesh.seen("flaky").map(({ path }) => path);
    expect(order.slice(-4)).toEqual([...later, "/delayed"]);
  });

  it("needs no configuration that a proxy rejects", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
