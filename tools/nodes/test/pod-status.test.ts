import { expect, test } from "vitest";
import { podStatus, type PodProgress } from "../src/agent/pod-status.js";
import type { ContainerStatus, Pod } from "../src/kube/objects.js";

const container = (name: string, more: Partial<ContainerStatus>): ContainerStatus => ({
  ...{ name, image: name, imageID: name, state: {}, lastState: {}, ready: false, started: false, restartCount: 0 },
  ...more,
});
const ended = (exitCode: number) => ({
  terminated: { exitCode, reason: "", startedAt: "", finishedAt: "", containerID: "" },
});
const pod = {
  metadata: { name: "web", namespace: "shop", uid: "1" },
  spec: { containers: [{ name: "app", image: "app" }], initContainers: [{ name: "init", image: "init" }] },
} as unknown as Pod;
const statusOf = (progress: Partial<PodProgress>) =>
  podStatus(
    pod,
    {
      ...{ hostIP: "10.0.0.1", podIP: "10.0.0.2", startTime: "" },
      ...{ init: [], containers: [], ephemeral: [], isInitialized: true },
      ...progress,
    },
    "2027-01-01T00:00:00Z",
  );

test("a Pod whose container waits for its restart is Running, as with the kubelet", () => {
  const waiting = { waiting: { reason: "CrashLoopBackOff", message: "" } };
  expect(statusOf({ containers: [container("app", { state: waiting, lastState: ended(137) })] }).phase).toBe("Running");
  expect(statusOf({ containers: [container("app", { state: waiting })] }).phase).toBe("Pending");
});

test("an init container is ready once it has succeeded", () => {
  const ready = (exitCode: number) =>
    statusOf({ init: [container("init", { state: ended(exitCode) })] }).initContainerStatuses?.[0]?.ready;
  expect([ready(0), ready(1)]).toEqual([true, false]);
});
