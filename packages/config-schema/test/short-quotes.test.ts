import { decode, formatPath, withShortQuotes } from "@istiod/config-schema";
import { expect, it } from "vitest";

it.each([
  ["is short", "is short"],
  [`is "${"a".repeat(158)}", expected b`, `is "${"a".repeat(158)}", expected b`],
  [`is "${"a".repeat(159)}", expected "b"`, `is "${"a".repeat(99)}…", expected "b"`],
  [`is ${JSON.stringify(`${"a".repeat(97)}\u0001${"b".repeat(80)}`)}`, `is "${"a".repeat(97)}…"`],
  [`is "${"a".repeat(98)}😀${"b".repeat(80)}"`, `is "${"a".repeat(98)}…"`],
  [`is ${JSON.stringify('"'.repeat(200))}`, `is "${'\\"'.repeat(49)}…"`],
  [`not closed: "${"a".repeat(200)}`, `not closed: "${"a".repeat(200)}`],
])("quotations of %s", (message, short) => {
  expect(withShortQuotes(message)).toBe(short);
});

it("messages and fields do not repeat long values", () => {
  const long = "a".repeat(5000);
  const [decoded] = decode({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "a", namespace: "shop" },
    spec: {
      hosts: ["ratings"],
      http: [
        {
          match: [{ uri: { prefix: long }, headers: { [long]: { exact: "x " } } }],
          route: [{ destination: { host: "ratings" } }],
        },
      ],
    },
  });
  const lines = decoded?.issues.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  expect(lines).toHaveLength(1);
  for (const line of lines ?? []) expect(line.length).toBeLessThan(400);
});

it("shortening takes linear time", () => {
  const start = performance.now();
  withShortQuotes('\\"'.repeat(1_000_000));
  withShortQuotes(`"${"\\\\".repeat(1_000_000)}`);
  expect(performance.now() - start).toBeLessThan(2000);
});
