import { execInPod, parseKubeconfig, type PodCommand } from "@istiod/kubernetes";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test } from "vitest";

const request: PodCommand = { namespace: "shop", pod: "web", container: "istio-proxy", command: ["cat", "a b"] };

test("a command runs in a container, with its outputs and failures", async () => {
  const commands: PodCommand[] = [];
  const large = "x".repeat(200_000);
  const server = await startApiServer({
    exec: async (command) => {
      commands.push(command);
      if (command.container === "none") return { stderr: "no such file\n", code: 1 };
      return { stdout: large, stderr: "a warning" };
    },
  });
  onTestFinished(() => server.stop());
  const access = await parseKubeconfig(server.kubeconfig.yaml);
  expect(await execInPod(access, request)).toEqual({ stdout: large, stderr: "a warning" });
  expect(commands).toEqual([request]);
  await expect(execInPod(access, { ...request, container: "none" })).rejects.toThrow(
    'command "cat a b" in container none of Pod shop/web: no such file',
  );
});

test("a server that refuses commands, or does not answer, is an error that names the command", async () => {
  const server = await startApiServer({ exec: () => new Promise(() => undefined) });
  const access = await parseKubeconfig(server.kubeconfig.yaml);
  await expect(execInPod(access, request, 50)).rejects.toThrow("of Pod shop/web: no result within 50 ms");
  await server.stop();
  await expect(execInPod(access, request)).rejects.toThrow(/of Pod shop\/web: .*ECONNREFUSED/);
});
