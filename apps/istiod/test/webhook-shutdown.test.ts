import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { folder, serve } from "./serving.js";

const namespace = "istio-system";
const until = { timeout: 60_000, interval: 20 };

async function meshWithWebhooks() {
  const server = await startApiServer({ types: [], namespaces: [namespace], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  const directory = await folder({ kubeconfig: server.kubeconfig.yaml });
  const istiod = await serve({
    kubeconfig: join(directory, "kubeconfig"),
    httpsAddr: "127.0.0.1:0",
    secureGRPCAddr: "127.0.0.1:0",
    namespace,
    shutdownDuration: 60_000,
  });
  return { server, istiod };
}

function rootOf({ objects }: ApiServer): string {
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name: "istio-ca-secret" };
  const { data = {} } = objects.get(secret) as { readonly data?: Readonly<Record<string, string>> };
  return Buffer.from(data["ca-cert.pem"] ?? "", "base64").toString();
}

const review = JSON.stringify({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
    kind: { group: "networking.istio.io", version: "v1", kind: "VirtualService" },
    operation: "CREATE",
    object: {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name: "cart", namespace: "shop" },
      spec: { hosts: ["cart"], http: [{ route: [{ destination: { host: "cart" } }] }] },
    },
  },
});

/** Calls the validation webhook without sending the body, and resolves when istiod waits for it. */
async function startCall(port: number, ca: string): Promise<ClientRequest> {
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(review),
    expect: "100-continue",
  };
  const options = { host: "127.0.0.1", port, path: "/validate", method: "POST", headers, ca };
  const call = request({ ...options, servername: `istiod.${namespace}.svc` });
  call.flushHeaders();
  await once(call, "continue");
  return call;
}

test("a webhook call that has begun is answered during the shutdown, and its connection is closed", async () => {
  const { server, istiod } = await meshWithWebhooks();
  const call = await startCall(istiod.addresses["httpsAddr"]?.port ?? 0, rootOf(server));
  const answered = once(call, "response") as Promise<[IncomingMessage]>;
  const closed = istiod.close();
  await vi.waitFor(async () => expect(fetch(`${istiod.http}/ready`)).rejects.toThrow("fetch failed"), until);
  call.end(review);
  const [response] = await answered;
  expect(response.statusCode).toBe(200);
  expect(JSON.parse(await text(response))).toMatchObject({ response: { allowed: true } });
  expect(response.headers.connection).toBe("close");
  await closed;
});

test("idle connections of webhooks are closed by API servers, which do so after 90 s", async () => {
  const { server, istiod } = await meshWithWebhooks();
  const call = await startCall(istiod.addresses["httpsAddr"]?.port ?? 0, rootOf(server));
  call.end(review);
  const [response] = (await once(call, "response")) as [IncomingMessage];
  await text(response);
  expect(response.headers["keep-alive"]).toMatch(/^timeout=120\b/);
});
