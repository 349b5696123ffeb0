import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { addByPlugin, readCniPlugin } from "../src/network/cni-plugin.js";
import type { Pod } from "../src/kube/objects.js";

const pod = { metadata: { name: "web", namespace: "shop", uid: "7" }, spec: { containers: [] } } as unknown as Pod;
const namespaces = { pid: 42, enter: [], close: async () => undefined };

/** Writes a plugin, which is a script, and its configuration. */
async function pluginOf(script: string, config: object = { type: "./plugin", mode: "test" }) {
  const folder = await mkdtemp(join(tmpdir(), "cni-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "plugin"), `#!/bin/sh\ncd ${folder}\n${script}\n`);
  await chmod(join(folder, "plugin"), 0o755);
  await writeFile(join(folder, "10-test.conf"), JSON.stringify(config));
  return { folder, file: join(folder, "10-test.conf") };
}

test("a plugin learns the Pod, its network and its address", async () => {
  const { folder, file } = await pluginOf('cat > input; env | grep "^CNI_" | sort > environment');
  await addByPlugin(await readCniPlugin(file), pod, "10.244.1.9", namespaces);
  expect(JSON.parse(await readFile(join(folder, "input"), "utf8"))).toEqual({
    cniVersion: "1.0.0",
    name: "pods",
    type: "./plugin",
    mode: "test",
    prevResult: {
      cniVersion: "1.0.0",
      interfaces: [{ name: "eth0", sandbox: "/proc/42/ns/net" }],
      ips: [{ address: "10.244.1.9/32", interface: 0 }],
    },
  });
  expect((await readFile(join(folder, "environment"), "utf8")).split("\n")).toEqual([
    "CNI_ARGS=K8S_POD_NAME=web;K8S_POD_NAMESPACE=shop;K8S_POD_UID=7;IgnoreUnknown=1",
    "CNI_COMMAND=ADD",
    "CNI_CONTAINERID=7",
    "CNI_IFNAME=eth0",
    "CNI_NETNS=/proc/42/ns/net",
    `CNI_PATH=${folder}`,
    "",
  ]);
});

test("the failure of a plugin has its words", async () => {
  const { file } = await pluginOf('echo \'{"code": 7, "msg": "no kubeconfig"}\'; exit 1');
  const plugin = await readCniPlugin(file);
  await expect(addByPlugin(plugin, pod, "10.244.1.9", namespaces)).rejects.toThrow("no kubeconfig");
});

test("a type that is no path is rejected", async () => {
  const { file } = await pluginOf("", { type: "istio-cni" });
  await expect(readCniPlugin(file)).rejects.toThrow("10-test.conf: type: must be the path of an executable");
});
