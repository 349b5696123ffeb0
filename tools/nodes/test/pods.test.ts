import { writeFile } from "node:fs/promises";
import { parseKubeconfig, requestInPod } from "@istiod/kubernetes";
import { expect, test } from "vitest";
import type { Pod } from "../src/kube/objects.js";
import { execute } from "./execute.js";
import { patience, pods, unavailable, useRig } from "./rig.js";

const holder = useRig();

const shell = (name: string, script: string, rest: object = {}) => ({
  name,
  image: "shell",
  command: ["sh", "-c", script],
  ...rest,
});

const isReady = (pod: Pod) => pod.status?.conditions?.find(({ type }) => type === "Ready")?.status;

test("a pod gets its variables, volumes, identity and names", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const namespace = "default";
  await rig.create("/api/v1/namespaces/default/configmaps", {
    metadata: { name: "prices", namespace },
    data: { apple: "1.20", pear: "2.10" },
  });
  await rig.create("/api/v1/namespaces/default/secrets", {
    metadata: { name: "key", namespace },
    data: { password: Buffer.from("xyzzy").toString("base64") },
  });
  await rig.create(pods, {
    metadata: { name: "all", namespace, labels: { app: "all" }, annotations: { note: "one" } },
    spec: {
      restartPolicy: "Never",
      securityContext: { fsGroup: 2000 },
      volumes: [
        { name: "prices", configMap: { name: "prices", items: [{ key: "apple", path: "fruit/apple" }] } },
        { name: "key", secret: { secretName: "key", defaultMode: 0o400 } },
        { name: "scratch", emptyDir: {} },
        { name: "labels", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
      ],
      initContainers: [
        shell("first", "echo init > /scratch/order", { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] }),
      ],
      containers: [
        shell(
          "main",
          'echo "$GREETING|$PEAR|$PASSWORD|$CPU|$POD"; cat /etc/prices/fruit/apple; echo; cat /key/password; echo; cat /labels/labels; echo; cat /scratch/order; id -u; id -G; hostname; ip -4 -o addr show eth0; echo "$KUBERNETES_SERVICE_HOST"; cut -d. -f2 /var/run/secrets/kubernetes.io/serviceaccount/token | head -c 3; echo; head -1 /var/run/secrets/kubernetes.io/serviceaccount/ca.crt; echo done > /dev/termination-log',
          {
            securityContext: { runAsUser: 1337, runAsGroup: 1338 },
            resources: { limits: { cpu: "1500m" } },
            env: [
              { name: "WHO", value: "you" },
              { name: "GREETING", value: "hello $(WHO) $(NOBODY) $$(WHO)" },
              { name: "PEAR", valueFrom: { configMapKeyRef: { name: "prices", key: "pear" } } },
              { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "key", key: "password" } } },
              { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
              { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            ],
            volumeMounts: [
              { name: "prices", mountPath: "/etc/prices" },
              { name: "key", mountPath: "/key" },
              { name: "scratch", mountPath: "/scratch" },
              { name: "labels", mountPath: "/labels" },
            ],
          },
        ),
      ],
    },
  });
  await expect.poll(async () => (await rig.pod("all")).status?.phase, patience).toBe("Succeeded");
  const pod = await rig.pod("all");
  const lines = (await rig.logs("all", "main")).trim().split("\n");
  expect(lines.slice(0, 8)).toEqual([
    "hello you $(NOBODY) $(WHO)|2.10|xyzzy|2|all",
    "1.20",
    "xyzzy",
    'app="all"',
    "init",
    "1337",
    "1338 2000",
    "all",
  ]);
  expect(lines[8]).toContain(`${pod.status?.podIP}/32`);
  expect(lines.slice(9)).toEqual(["10.96.0.1", "eyJ", "-----BEGIN CERTIFICATE-----"]);
  expect(pod.status?.containerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0, message: "done\n" });
  expect(rig.errors).toEqual([]);
}, 120_000);

test("probes over HTTP, TCP, gRPC and a command decide readiness", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const echo = (name: string, args: string[], readinessProbe: object) => ({
    name,
    image: "example.com/echo:1",
    args,
    ports: [{ name: "web", containerPort: 8080 }],
    readinessProbe: { periodSeconds: 1, timeoutSeconds: 10, ...readinessProbe },
  });
  await rig.create(pods, {
    metadata: { name: "probed", namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 5,
      volumes: [{ name: "shared", emptyDir: {} }],
      containers: [
        echo("http", [], { httpGet: { port: "web", path: "/status/200" } }),
        echo("tcp", ["--http", "8081", "--tcp", "9000"], { tcpSocket: { port: 9000 } }),
        echo("grpc", ["--http", "8082", "--grpc", "9001"], { grpc: { port: 9001 } }),
        shell("exec", "exec sleep 1000", {
          readinessProbe: { exec: { command: ["cat", "/shared/ok"] }, periodSeconds: 1, timeoutSeconds: 10 },
          volumeMounts: [{ name: "shared", mountPath: "/shared" }],
        }),
      ],
    },
  });
  const readiness = async () =>
    Object.fromEntries(
      (await rig.pod("probed")).status?.containerStatuses?.map(({ name, ready }) => [name, ready]) ?? [],
    );
  await expect.poll(readiness, patience).toEqual({ http: true, tcp: true, grpc: true, exec: false });
  const { metadata, spec } = await rig.pod("probed");
  expect(isReady(await rig.pod("probed"))).toBe("False");
  await writeFile(`${rig.nodes.directory}/${spec.nodeName}/${metadata.uid}/volumes/shared/ok`, "");
  await expect.poll(async () => isReady(await rig.pod("probed")), patience).toBe("True");
  // A port is reached at the pod's loopback address, also of what listens there only.
  const access = await parseKubeconfig(rig.kubeconfig);
  const place = { namespace: "default", pod: "probed" };
  expect(await requestInPod(access, { ...place, port: 8080, path: "/any?a=b" })).toContain('"/any?a=b"');
  await expect(requestInPod(access, { ...place, port: 8080, path: "/status/503" })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("GET /status/503 at port 8080 of Pod default/probed: status 503") as string,
  });
  await expect(requestInPod(access, { ...place, port: 7, path: "/" })).rejects.toMatchObject({
    code: "network",
    message: expect.stringContaining("connect ECONNREFUSED ::1:7") as string,
  });
  await rig.remove(`${pods}/probed`);
  await expect
    .poll(() => rig.pod("probed").catch((error: unknown) => error), patience)
    .toMatchObject({ code: "not-found" });
}, 180_000);

test("a killed container is started again, and one that fails its liveness probe", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await rig.create(pods, {
    metadata: { name: "restarted", namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        shell("killed", "exec sleep 1000"),
        shell("dead", "exec sleep 1000", {
          livenessProbe: {
            exec: { command: ["false"] },
            periodSeconds: 1,
            failureThreshold: 1,
            terminationGracePeriodSeconds: 1,
          },
        }),
      ],
    },
  });
  const status = async (name: string) =>
    (await rig.pod("restarted")).status?.containerStatuses?.find((container) => container.name === name);
  await expect.poll(async () => (await status("killed"))?.state.running, patience).toBeDefined();
  const id = (await status("killed"))?.containerID ?? "";
  process.kill(Number(id.replace("process://", "")), "SIGKILL");
  await expect.poll(async () => (await status("killed"))?.restartCount, patience).toBe(1);
  expect((await status("killed"))?.lastState.terminated).toMatchObject({ exitCode: 137, reason: "Error" });
  await expect.poll(async () => (await status("dead"))?.restartCount ?? 0, patience).toBeGreaterThan(0);
  expect((await status("dead"))?.lastState.terminated?.exitCode).toBe(143);
  await rig.remove(`${pods}/restarted`);
}, 180_000);

test("a container starts after the hook postStart of the one before it", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const volumeMounts = [{ name: "shared", mountPath: "/shared" }];
  const postStart = { exec: { command: ["sh", "-c", "sleep 1; echo written > /shared/file"] } };
  await rig.create(pods, {
    metadata: { name: "ordered", namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: "shared", emptyDir: {} }],
      containers: [
        shell("first", "exec sleep 1000", { lifecycle: { postStart }, volumeMounts }),
        shell("second", "cat /shared/file; exec sleep 1000", { volumeMounts }),
      ],
    },
  });
  await expect.poll(() => rig.logs("ordered", "second").catch(() => ""), patience).not.toBe("");
  expect(await rig.logs("ordered", "second")).toBe("written\n");
  await rig.remove(`${pods}/ordered`);
}, 120_000);

test("a pod that needs what nodes do not offer fails with a reason", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await rig.create(pods, {
    metadata: { name: "host", namespace: "default" },
    spec: { hostNetwork: true, containers: [{ name: "main", image: "shell" }] },
  });
  await expect
    .poll(async () => (await rig.pod("host")).status, patience)
    .toMatchObject({ phase: "Failed", reason: "UnsupportedPod", message: "unsupported fields: spec.hostNetwork" });
  await rig.create(pods, {
    metadata: { name: "unknown", namespace: "default" },
    spec: { containers: [{ name: "main", image: "registry.example/none:1" }] },
  });
  await expect
    .poll(async () => (await rig.pod("unknown")).status?.containerStatuses?.[0]?.state.waiting, patience)
    .toEqual({
      reason: "ErrImagePull",
      message: "image registry.example/none:1: the registry has no none",
    });
}, 120_000);

test("a command runs in a container, as by kubectl exec", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await rig.create(pods, {
    metadata: { name: "entered", namespace: "default" },
    spec: {
      containers: [shell("main", "echo inside > /tmp/where; exec sleep 1000"), shell("other", "exec sleep 1000")],
    },
  });
  await expect.poll(async () => isReady(await rig.pod("entered")), patience).toBe("True");
  const run = (container: string, command: string[], pod = "entered") =>
    execute(rig.kubeconfig, { pod, container }, command);
  const script = 'cat /tmp/where; hostname; echo "$0" >&2; exit 7';
  expect(await run("main", ["sh", "-c", script, "a b"])).toMatchObject({
    stdout: "inside\nentered\n",
    stderr: "a b\n",
    status: { status: "Failure", details: { causes: [{ reason: "ExitCode", message: "7" }] } },
  });
  // More than a frame, and more than the buffers in between.
  const many = await run("other", ["sh", "-c", "seq 1 300000"]);
  expect(many).toMatchObject({ stderr: "", status: { status: "Success" } });
  expect(many.stdout.length).toBe(1_988_895);
  await expect(run("none", ["true"])).rejects.toBeDefined();
  await expect(run("main", ["true"], "absent")).rejects.toBeDefined();
  await rig.remove(`${pods}/entered`);
}, 120_000);

test("the API server sends the output of a container, as by kubectl logs", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const script = 'seq 1 30000; echo 1 >> /state/runs; while [ ! -e "/state/go" ]; do sleep 0.1; done; echo last';
  const volumeMounts = [{ name: "state", mountPath: "/state" }];
  await rig.create(pods, {
    metadata: { name: "logged", namespace: "default" },
    spec: {
      volumes: [{ name: "state", emptyDir: {} }],
      terminationGracePeriodSeconds: 1,
      initContainers: [shell("first", "echo prepared")],
      containers: [shell("main", script, { volumeMounts }), shell("other", "exec sleep 1000")],
    },
  });
  const path = `${pods}/logged/log`;
  const logs = (query: Record<string, string | number | boolean>, of = path): Promise<string> =>
    rig.text(of, { container: "main", ...query });
  await expect.poll(() => logs({ tailLines: 1 }).catch(() => ""), patience).toBe("30000\n");
  expect(await logs({})).toBe(`${Array.from({ length: 30_000 }, (_, i) => i + 1).join("\n")}\n`);
  expect(await logs({ tailLines: 2 })).toBe("29999\n30000\n");
  expect(await logs({ tailLines: 20_000 })).toMatch(/^10001\n(.*\n)*30000\n$/);
  expect(await logs({ tailLines: 0 })).toBe("");
  expect(await logs({ limitBytes: 4 })).toBe("1\n2\n");
  expect(await logs({ container: "first" })).toBe("prepared\n");
  expect(await logs({ container: "other" })).toBe("");
  const later = new Date(Date.now() + 60_000).toISOString();
  await expect.poll(() => logs({ sinceTime: later }), patience).toBe("");
  expect(await logs({ sinceSeconds: 3600, tailLines: 1 })).toBe("30000\n");

  const { metadata, spec } = await rig.pod("logged");
  const followed = await rig.client.send({ path, query: { container: "main", follow: true, tailLines: 1 } });
  const parts: string[] = [];
  for await (const part of followed.body) {
    parts.push(Buffer.from(part).toString());
    await writeFile(`${rig.nodes.directory}/${spec.nodeName}/${metadata.uid}/volumes/state/go`, "");
  }
  expect(parts).toEqual(["30000\n", "last\n"]);
  await expect.poll(() => logs({ previous: true, tailLines: 1 }).catch(() => ""), patience).toBe("last\n");

  const refused = (query: Record<string, string | number | boolean>, of?: string): Promise<string> =>
    logs(query, of).catch((error: unknown) => (error as Error).message);
  expect(await refused({ container: "first", previous: true })).toContain("has not been restarted");
  expect(await refused({ container: "none" })).toContain("container none is not valid for pod logged");
  expect(await refused({ container: "" })).toContain("one must be named: main, other, first");
  expect(await refused({ timestamps: true })).toContain("timestamps are not supported");
  expect(await refused({ tailLines: -1 })).toContain('tailLines is "-1": must be an integer of at least 0');
  expect(await refused({ sinceTime: "yesterday" })).toContain('sinceTime is "yesterday": must be a time');
  expect(await refused({ sinceTime: later, sinceSeconds: 1 })).toContain("only one of");
  expect(await refused({}, `${pods}/absent/log`)).toContain("not found");
  await rig.remove(`${pods}/logged`);
}, 120_000);
