import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PodVolumes } from "../src/agent/pod-volumes.js";
import type { VolumeSources } from "../src/agent/volume-content.js";
import type { ConfigMap, Pod } from "../src/kube/objects.js";

const pod = {
  metadata: { name: "cart", namespace: "shop" },
  spec: { containers: [], volumes: [{ name: "prices", configMap: { name: "prices" } }] },
} as unknown as Pod;

test("updates at the same time follow each other, and the last content stays", async () => {
  const directory = await mkdtemp(join(tmpdir(), "pod-volumes-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const names = Array.from({ length: 20 }, (_, index) => `file-${index}`);
  let count = 0;
  const sources = {
    // A content of its own for each update, in enough files for updates to meet.
    configMap: () => {
      const content = String(++count);
      return { metadata: {}, data: Object.fromEntries(names.map((name) => [name, content])) } as unknown as ConfigMap;
    },
  } as unknown as VolumeSources;
  const volumes = new PodVolumes(directory, sources);
  await Promise.all(Array.from({ length: 5 }, () => volumes.update(pod)));
  for (const name of names) expect(await readFile(join(volumes.pathOf(pod, "prices"), name), "utf8")).toBe("5");
});
