import { readdirSync } from "node:fs";
import { join } from "node:path";
import { analyzeTexts } from "@istiod/analysis";
import { describe, expect, it } from "vitest";
import { Abbreviator } from "../src/golden/abbreviations.js";
import {
  generateGolden,
  goldenPaths,
  goldenProxies,
  readGolden,
  samplesFolder,
  updateCommand,
} from "../src/golden/golden-files.js";
import { sampleFiles } from "../src/golden/sample-mesh.js";

const samples = readdirSync(samplesFolder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

it("every sample has golden files, and every golden file a proxy of a sample", () => {
  expect(Object.keys(goldenProxies).sort()).toEqual(samples.sort());
  expect(Object.values(goldenProxies).filter((proxies) => proxies.length === 0)).toEqual([]);
  const expected = Object.entries(goldenProxies).flatMap(([sample, proxies]) =>
    proxies.map((proxy) => `tools/parity/golden/${sample}/${proxy}.yaml`),
  );
  expect(goldenPaths()).toEqual(expected.sort());
});

describe.each(samples)("the sample %s", (sample) => {
  it("has no findings of analysis", () => {
    const { messages, unparsed } = analyzeTexts({ files: sampleFiles(join(samplesFolder, sample)) });
    expect({ messages: messages.map(({ code, message }) => `${code} ${message}`), unparsed }).toEqual({
      messages: [],
      unparsed: [],
    });
  });

  it.each((goldenProxies[sample] ?? []).map((proxy) => [proxy]))("yields the golden configuration of %s", (proxy) => {
    const file = generateGolden(sample).find(({ path }) => path.endsWith(`/${proxy}.yaml`));
    expect(
      file?.text,
      `${file?.path} is not what the generators yield. If the change is intended: ${updateCommand}`,
    ).toBe(readGolden(file?.path ?? ""));
  });
});

describe("abbreviations", () => {
  const abbreviator = new Abbreviator({
    values: { inner: { a: 1 }, outer: { inner: "$inner", list: ["$inner"] } },
    defaults: { Cluster: { connectTimeout: "10s", filters: ["$inner"] } },
  });

  it("replace the largest value that has a name", () => {
    const outer = { list: [{ a: 1 }], inner: { a: 1 } };
    expect(abbreviator.abbreviate({ x: outer, y: { a: 1 }, z: { a: 2 } }, "Listener")).toEqual({
      x: "$outer",
      y: "$inner",
      z: { a: 2 },
    });
  });

  it("leave out defaults of the message, and show those that are unset or differ", () => {
    expect(abbreviator.abbreviate({ name: "a", connectTimeout: "10s", filters: [{ a: 1 }] }, "Cluster")).toEqual({
      name: "a",
    });
    expect(abbreviator.abbreviate({ name: "a", connectTimeout: "2s" }, "Cluster")).toEqual({
      name: "a",
      connectTimeout: "2s",
      filters: "(unset)",
    });
    const packed = { "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", connectTimeout: "10s" };
    expect(abbreviator.abbreviate({ typedConfig: packed }, "Listener")).toEqual({
      typedConfig: { "@type": "Cluster", filters: "(unset)" },
    });
  });

  it("write an address and a port as one, unless there is more", () => {
    const socket = { address: "10.0.0.1", portValue: 80 };
    expect(abbreviator.abbreviate({ address: { socketAddress: socket } }, "Listener")).toEqual({
      address: "10.0.0.1:80",
    });
    const udp = { socketAddress: { ...socket, protocol: "UDP" } };
    expect(abbreviator.abbreviate({ address: udp }, "Listener")).toEqual({ address: udp });
  });

  it("may use only preceding names", () => {
    expect(() => new Abbreviator({ values: { a: "$b", b: 1 }, defaults: {} })).toThrow(
      "$b is not among the preceding values",
    );
  });
});
