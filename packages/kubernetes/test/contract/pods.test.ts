import { expect, it } from "vitest";
import { contract } from "./servers.js";

contract("pods", (server) => {
  const path = `/api/v1/namespaces/${server.namespace}/pods`;
  const pod = (name: string, spec: object = {}) => ({
    metadata: { name },
    spec: { containers: [{ name: "app", image: "app:1" }], ...spec },
  });
  const onNode = (name: string, spec: object = {}) => pod(name, { nodeName: "node-of-pods", ...spec });

  it("remain on a node for their grace period", async () => {
    await server.http.post(path, onNode("graceful", { terminationGracePeriodSeconds: 60 }));
    const { status, body } = await server.http.delete(`${path}/graceful`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: "Pod", metadata: { deletionGracePeriodSeconds: 60 } });
    expect(body.metadata.generation).toBe(2);
    const { metadata } = (await server.http.get(`${path}/graceful`)).body;
    expect(Date.parse(metadata.deletionTimestamp)).toBeGreaterThan(Date.parse(metadata.creationTimestamp) + 59_000);
    // A later deletion shortens the period, and never extends it.
    await server.http.delete(`${path}/graceful`, { gracePeriodSeconds: 90 });
    await server.http.delete(`${path}/graceful`, { gracePeriodSeconds: 20 });
    expect((await server.http.get(`${path}/graceful`)).body.metadata.deletionGracePeriodSeconds).toBe(20);
    await server.http.delete(`${path}/graceful`, { gracePeriodSeconds: 0 });
    expect((await server.http.get(`${path}/graceful`)).status).toBe(404);
  });

  it("are reported as modified, then as deleted", async () => {
    const { body } = await server.http.post(path, onNode("watched"));
    const watch = await server.http.watch(path, {
      resourceVersion: body.metadata.resourceVersion,
      fieldSelector: "metadata.name=watched",
    });
    await server.http.delete(`${path}/watched`);
    await server.http.delete(`${path}/watched`, { gracePeriodSeconds: 0 });
    const events = await watch.next(3);
    watch.close();
    expect(events.map(({ type, object }) => [type, object.metadata.deletionGracePeriodSeconds])).toEqual([
      ["MODIFIED", 30],
      ["MODIFIED", 0],
      ["DELETED", 0],
    ]);
  });

  it("are removed at once without a node, or after they completed", async () => {
    const { body: created } = await server.http.post(path, pod("unscheduled"));
    const watch = await server.http.watch(path, { resourceVersion: created.metadata.resourceVersion });
    const { body } = await server.http.delete(`${path}/unscheduled`);
    expect((await watch.next(2)).map(({ type }) => type)).toEqual(["MODIFIED", "DELETED"]);
    watch.close();
    expect(body).toMatchObject({ kind: "Pod", metadata: { name: "unscheduled" } });
    expect((await server.http.get(`${path}/unscheduled`)).status).toBe(404);
    await server.http.post(path, onNode("completed"));
    await server.http.mergePatch(`${path}/completed/status`, { status: { phase: "Succeeded" } });
    await server.http.delete(`${path}/completed`);
    expect((await server.http.get(`${path}/completed`)).status).toBe(404);
  });

  it("wait for finalizers after their grace period", async () => {
    const { metadata, spec } = onNode("finalized");
    await server.http.post(path, { metadata: { ...metadata, finalizers: ["example.com/wait"] }, spec });
    await server.http.delete(`${path}/finalized`, { gracePeriodSeconds: 0 });
    expect((await server.http.get(`${path}/finalized`)).body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    await server.http.mergePatch(`${path}/finalized`, { metadata: { finalizers: null } });
    expect((await server.http.get(`${path}/finalized`)).status).toBe(404);
  });

  it("change their status only by the subresource", async () => {
    const { body: created } = await server.http.post(path, {
      ...pod("status"),
      status: { phase: "Running", podIP: "10.0.0.9" },
    });
    expect(created.status).toMatchObject({ phase: "Pending", qosClass: "BestEffort" });
    expect(created.status.podIP).toBeUndefined();
    const ignored = await server.http.mergePatch(`${path}/status`, { status: { phase: "Running" } });
    expect(ignored.body.status.phase).toBe("Pending");
    const { body } = await server.http.mergePatch(`${path}/status/status`, {
      spec: { nodeName: "ignored" },
      status: { phase: "Running", podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] },
    });
    expect(body.status).toMatchObject({ phase: "Running", podIP: "10.0.0.9" });
    expect(body.spec.nodeName).toBeUndefined();
    expect(body.metadata.generation).toBe(1);
  });

  it("have the defaults of the API", async () => {
    const { body } = await server.http.post(
      path,
      pod("defaults", {
        containers: [
          {
            name: "app",
            image: "registry:5000/app",
            ports: [{ containerPort: 80 }],
            readinessProbe: { httpGet: { port: 80 } },
            env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
            resources: { limits: { cpu: "1", memory: "1Gi" } },
          },
        ],
      }),
    );
    expect(body.spec).toMatchObject({
      serviceAccountName: "default",
      serviceAccount: "default",
      restartPolicy: "Always",
      dnsPolicy: "ClusterFirst",
      schedulerName: "default-scheduler",
      enableServiceLinks: true,
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      containers: [
        {
          imagePullPolicy: "Always",
          terminationMessagePath: "/dev/termination-log",
          ports: [{ containerPort: 80, protocol: "TCP" }],
          readinessProbe: { httpGet: { path: "/", scheme: "HTTP" }, periodSeconds: 10, failureThreshold: 3 },
          env: [{ valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } }],
          resources: { requests: { cpu: "1", memory: "1Gi" } },
        },
      ],
    });
    expect(body.status.qosClass).toBe("Guaranteed");
  });

  it.each([
    ["spec.nodeName=node-of-pods,spec.serviceAccountName=selected", ["selected-a"]],
    ["spec.serviceAccountName=selected,status.phase!=Pending", []],
    ["spec.serviceAccountName=selected,spec.hostNetwork=false", ["selected-a"]],
    ["spec.serviceAccountName=selected,spec.hostNetwork=true", ["selected-b"]],
    ["metadata.name=selected-b", ["selected-b"]],
  ])("are selected by fields: %s", async (fieldSelector, expected) => {
    await server.http.post(path, onNode("selected-a", { serviceAccountName: "selected" }));
    await server.http.post(path, pod("selected-b", { serviceAccountName: "selected", hostNetwork: true }));
    const { body } = await server.http.get(`${path}?fieldSelector=${encodeURIComponent(fieldSelector)}`);
    expect(body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(expected);
  });

  it("need a container with a name and an image", async () => {
    const { status, body } = await server.http.post(path, pod("empty", { containers: [] }));
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ reason: "FieldValueRequired", field: "spec.containers" }]);
    const unnamed = await server.http.post(path, pod("unnamed", { containers: [{ image: "app:1" }] }));
    expect(unnamed.status).toBe(422);
    expect(unnamed.body.details.causes).toMatchObject([{ field: "spec.containers[0].name" }]);
  });
});
