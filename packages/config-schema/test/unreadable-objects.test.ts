import { expect, test } from "vitest";
import { allKinds, decode, readText } from "../src/index.js";

const service = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{port: 80}]}
`;

test.each(["{toString: x, valueOf: y}", "{toString: 1}", "[{toString: x}]", "{}", "[]", "3", "true"])(
  "a Secret of type %s is rejected alone",
  (type) => {
    const secret = `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, type: ${type}}`;
    const readings = readText(`${service}---\n${secret}\n---${service}`, "a.yaml");
    expect(readings.map(({ objects }) => objects.map(({ object }) => object !== undefined))).toEqual([
      [true],
      [false],
      [true],
    ]);
    const [problem] = readings.flatMap(({ problems }) => problems);
    expect(problem).toMatchObject({ severity: "error", path: ["type"] });
  },
);

test.each(["decode", "validate", "skip"] as const)("an object whose kind fails to %s it is rejected alone", (step) => {
  const kinds = allKinds.map((kind) => {
    if (kind.kind !== "AuthorizationPolicy") return kind;
    const original = kind[step] as ((...args: unknown[]) => unknown) | undefined;
    const failing = (...args: unknown[]): unknown => {
      if (JSON.stringify(args[0]).includes("harmful")) throw new Error("out of range");
      return original?.(...args);
    };
    return { ...kind, [step]: failing };
  });
  const policy = (name: string): object => ({
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name, namespace: "shop" },
    spec: { action: "DENY", rules: [{}], selector: { matchLabels: { app: "harmful" } } },
  });
  const sidecar = {
    apiVersion: "networking.istio.io/v1",
    kind: "Sidecar",
    metadata: { name: "a", namespace: "shop" },
    spec: { egress: [{ hosts: ["*/*"] }] },
  };
  const decoded = decode({ apiVersion: "v1", kind: "List", items: [policy("a"), sidecar] }, { kinds });
  expect(decoded.map(({ outcome }) => outcome)).toEqual(["rejected", "accepted"]);
  expect(decoded[0]?.issues).toEqual([
    { severity: "error", path: ["items", 0], message: "cannot be read: out of range" },
  ]);
  expect(decoded[0]).toMatchObject({ substitute: { name: "a", namespace: "shop", spec: { action: 1 } } });
});
