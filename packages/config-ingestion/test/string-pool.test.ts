import { describe, expect, it } from "vitest";
import { StringPool } from "../src/ledger/string-pool.js";
import { Ledger } from "../src/ledger/ledger.js";

const pod = (name: string, ip: string, version: number) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "shop",
      resourceVersion: `${version}`,
      creationTimestamp: "2024-01-01T00:00:00Z",
      labels: { app: name },
    },
    spec: { serviceAccountName: name, containers: [{ name: "app" }] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  });

describe("StringPool", () => {
  it("stays proportional to the live objects", () => {
    const ledger = new Ledger();
    const steady = Array.from({ length: 200 }, (_, i) => `steady-${i}`);
    for (const name of steady) ledger.replaceFile(`${name}.yaml`, pod(name, "10.0.0.1", 1));
    ledger.takeChanges();
    const first = ledger.pooledStrings;
    let most = 0;
    for (let i = 0; i < 5000; i++) {
      ledger.replaceFile("pod.yaml", pod(`pod-${i}`, `10.1.${i >> 8}.${i & 255}`, i));
      ledger.takeChanges();
      most = Math.max(most, ledger.pooledStrings);
    }
    // Each has a name, an address and a version that no other has; of these, no more than come between two looks.
    expect(most).toBeLessThan(first * 1.25 + 2048 + 20);
    expect(5000 * 3).toBeGreaterThan(2 * most);
  });

  it("shares strings across a removal of unused ones", () => {
    const pool = new StringPool();
    const used = pool.intern(["ns-1", "10.0.0.1"]);
    pool.removeUnused(() => []);
    for (let i = 0; pool.size < 3 + 2048; i++) pool.intern(`garbage-${i}`);
    pool.removeUnused(() => [{ nested: [used], bytes: new Uint8Array(4), none: null, number: 1 }]);
    expect(pool.size).toBe(2);
    pool.intern(["ns-1", "10.0.0.1"]);
    expect(pool.size).toBe(2);
  });

  it("visits live values only when many strings were added", () => {
    const pool = new StringPool();
    for (let i = 0; i < 10_000; i++) pool.intern(`first-${i}`);
    const unwanted = (): never => {
      throw new Error("looked at");
    };
    pool.removeUnused(unwanted);
    for (let i = 0; i < 4000; i++) pool.intern(`second-${i}`);
    pool.removeUnused(unwanted);
    expect(pool.size).toBe(14_000);
    for (let i = 0; i < 1000; i++) pool.intern(`third-${i}`);
    expect(() => pool.removeUnused(unwanted)).toThrow("looked at");
  });
});
