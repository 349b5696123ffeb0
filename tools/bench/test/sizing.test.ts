import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  affectedProxies,
  type Figures,
  type MeshSize,
  predict,
  predictAgent,
  resourcesOf,
} from "../src/sizing/formula.js";

const mesh: MeshSize = { services: 1000, namespaces: 20, pods: 3, proxies: 500, isScoped: false };
const scoped: MeshSize = { ...mesh, isScoped: true };

test("bytes are those of the proxies that get them, with the services that they see", () => {
  expect(predict(mesh).connectBytes).toBe(500 * (63_000 + 1000 * (7_100 + 3 * 240)));
  expect(predict(scoped).connectBytes).toBe(500 * (63_000 + 50 * (7_100 + 3 * 240)));
  expect(affectedProxies(scoped)).toBe(25);
  expect(predict(scoped).weight.bytes).toBeCloseTo(25 * (1_500 + 50 * 1_020), 6);
  expect(predict(mesh).endpoint.bytes).toBeCloseTo(500 * (400 + 3 * 147), 6);
});

test("memory is the sum of its parts", () => {
  expect(predict(mesh).peakBytes).toBe(165e6 + 1000 * 75e3 + 3000 * 10e3 + 500 * 345e3 + 20 * 1000 * 3e3);
  expect(predict(scoped).peakBytes).toBe(165e6 + 1000 * 75e3 + 3000 * 10e3 + 500 * 345e3 + 1000 * 3e3);
});

test.each(["services", "pods", "proxies"] as const)(
  "more %s cost more, and no figure grows faster than they do",
  (axis) => {
    const figures = ({ endpoint, weight, ...others }: Figures): number[] => [
      ...Object.values(others),
      ...[endpoint.cpuSeconds, endpoint.bytes, weight.cpuSeconds, weight.bytes],
    ];
    for (const size of [mesh, scoped]) {
      const [once, twice] = [figures(predict(size)), figures(predict({ ...size, [axis]: size[axis] * 2 }))];
      expect(twice).not.toEqual(once);
      for (const [i, value] of twice.entries()) {
        expect(value).toBeGreaterThanOrEqual(once[i]!);
        expect(value).toBeLessThanOrEqual(once[i]! * 2);
      }
    }
  },
);

test("a Sidecar for each namespace makes nothing more expensive", () => {
  const [all, own] = [predict(mesh), predict(scoped)];
  expect(own.peakBytes).toBeLessThan(all.peakBytes);
  expect(own.connectCpuSeconds).toBeLessThan(all.connectCpuSeconds);
  expect(own.endpoint.cpuSeconds).toBeLessThan(all.endpoint.cpuSeconds);
});

test("a limit leaves half to the heap, and requests cover the start and the changes", () => {
  const { cpuRequest, memoryRequest, memoryLimit } = resourcesOf(scoped, 5);
  const { readyCpuSeconds, connectCpuSeconds, peakBytes, endpoint } = predict(scoped);
  expect(memoryRequest).toBe(peakBytes);
  expect(memoryLimit).toBe(2 * peakBytes);
  expect(cpuRequest).toBe((readyCpuSeconds + connectCpuSeconds) / 30);
  expect(resourcesOf(scoped, 1000).cpuRequest).toBe(1000 * endpoint.cpuSeconds);
});

test("an Envoy with its agent grows with its clusters", () => {
  const [few, many] = [predictAgent(40), predictAgent(4000)];
  expect(many.envoyBytes - few.envoyBytes).toBe(3960 * 85e3);
  expect(many.agentBytes).toBeGreaterThan(few.agentBytes);
});

test("the command prints the prediction that the page shows", () => {
  const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
  const page = readFileSync(path("../../../docs/sizing.md"), "utf8");
  const [, flags = "", shown] = /^\$ npm run -s sizing -w tools\/bench -- (.*)\n([^`]*)```/m.exec(page) ?? [];
  expect(execFileSync(process.execPath, [path("../dist/sizing.js"), ...flags.split(" ")], { encoding: "utf8" })).toBe(
    shown,
  );
});
