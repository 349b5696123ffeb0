#!/usr/bin/env bash
# An informer of @kubernetes/client-node hands out two shapes of one kind, both typed as V1Pod: objects of its list are
# decoded by the model (times are Date objects without their microseconds, fields that the model does not know are gone,
# `kind` and `apiVersion` are missing), objects of its watch are the plain JSON (times are strings). The same Pod changes
# its shape with its first event, and code such as `creationTimestamp.getTime()` works until then.
# Seen with a server on the loopback interface that lists a Pod and then sends an event of the same Pod.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @kubernetes/client-node@1.4.0
cat > "$folder/run.mjs" <<'JS'
import { createServer } from "node:http";
import { CoreV1Api, KubeConfig, makeInformer } from "@kubernetes/client-node";

const pod = (resourceVersion, type = {}) => ({
  ...type,
  metadata: { name: "web", namespace: "shop", uid: "1", resourceVersion, creationTimestamp: "2026-01-02T03:04:05.123456Z" },
  spec: { containers: [{ name: "web" }], fieldOfNewerVersion: true },
});
const type = { kind: "Pod", apiVersion: "v1" };
const server = createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  if (request.url.includes("watch=true")) response.write(`${JSON.stringify({ type: "MODIFIED", object: pod("2", type) })}\n`);
  else
    response.end(JSON.stringify({ kind: "PodList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [pod("1")] }));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const config = new KubeConfig();
config.loadFromOptions({
  clusters: [{ name: "local", server: `http://127.0.0.1:${server.address().port}`, skipTLSVerify: true }],
  users: [{ name: "user" }],
  contexts: [{ name: "local", cluster: "local", user: "user" }],
  currentContext: "local",
});
const api = config.makeApiClient(CoreV1Api);
const informer = makeInformer(config, "/api/v1/namespaces/shop/pods", () => api.listNamespacedPod({ namespace: "shop" }));
const shape = ({ kind, metadata: { creationTimestamp: time }, spec, constructor }) => ({
  class: constructor.name,
  kind: kind ?? "none",
  time: `${time instanceof Date ? "Date" : typeof time} ${time instanceof Date ? time.toISOString() : time}`,
  unknownField: "fieldOfNewerVersion" in spec ? "kept" : "gone",
});
const found = {};
await new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error("no event within 60 s")), 60_000).unref();
  informer.on("add", (pod) => (found.listed = shape(pod)));
  informer.on("update", (pod) => resolve((found.watched = shape(pod))));
  informer.on("error", reject);
  informer.start().catch(reject);
});
console.log("@kubernetes/client-node 1.4.0");
console.table(found);
const expected = {
  listed: { class: "V1Pod", kind: "none", time: "Date 2026-01-02T03:04:05.123Z", unknownField: "gone" },
  watched: { class: "Object", kind: "Pod", time: "string 2026-01-02T03:04:05.123456Z", unknownField: "kept" },
};
process.exit(JSON.stringify(found) === JSON.stringify(expected) ? 0 : 1);
JS
node "$folder/run.mjs"
