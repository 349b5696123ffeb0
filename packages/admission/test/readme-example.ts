import { deepEqual } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { admissionHandler } from "@istiod/admission";

const handler = admissionHandler({
  admit: ({ operation, object }) =>
    operation === "DELETE" || object?.["metadata"] !== undefined
      ? { allowed: true, warnings: ["labels are recommended"] }
      : { allowed: false, message: "metadata: is missing" },
});
// An API server calls webhooks over HTTPS only.
const server = createServer((request, response) => void handler(request, response));
server.listen(0, "127.0.0.1");
await once(server, "listening");

const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/validate?timeout=10s`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: { uid: "705ab4f5", operation: "CREATE", object: { kind: "Pod" } },
  }),
});
deepEqual(await answer.json(), {
  kind: "AdmissionReview",
  apiVersion: "admission.k8s.io/v1",
  response: { uid: "705ab4f5", allowed: false, status: { status: "Failure", message: "metadata: is missing" } },
});
server.close();
server.closeAllConnections();
