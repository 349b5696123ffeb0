import { request } from "node:https";
import { Agent } from "node:https";
import { join } from "node:path";
import { startApiServer } from "@istiod/kubernetes/testing";
import { applyJsonPatch, type CaseFiles } from "@istiod/injector/testing";
import { onTestFinished } from "vitest";
import { folder, serve } from "./serving.js";

const namespace = "istio-system";

/** The answer of a webhook over HTTP. */
export interface WebhookAnswer {
  readonly status: number;
  readonly body: string;
}

interface Review {
  readonly response: {
    readonly allowed: boolean;
    readonly patch?: string;
    readonly status?: { readonly message: string };
  };
}

/** An istiod with an API server in memory, and a client that calls its webhook as the API server does. */
export async function serveInjection(files: CaseFiles, env: NodeJS.ProcessEnv = {}) {
  const server = await startApiServer({ types: [], namespaces: [namespace], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  const maps = (contents: CaseFiles) => [
    configMap("istio-sidecar-injector", { config: contents.injectConfig, values: contents.values }),
    configMap("istio", { mesh: contents.meshConfig }),
  ];
  for (const map of maps(files)) await server.objects.create(map);
  const directory = await folder({ kubeconfig: server.kubeconfig.yaml });
  const set = { kubeconfig: join(directory, "kubeconfig"), httpsAddr: "127.0.0.1:0", namespace };
  const istiod = await serve({ ...set, secureGRPCAddr: "127.0.0.1:0" }, env);
  const secret = server.objects.get({ apiVersion: "v1", kind: "Secret", namespace, name: "istio-ca-secret" }) as {
    readonly data?: Readonly<Record<string, string>>;
  };
  const ca = Buffer.from(secret.data?.["ca-cert.pem"] ?? "", "base64").toString();
  const agent = new Agent({ keepAlive: true, ca, servername: `istiod.${namespace}.svc` });
  onTestFinished(() => agent.destroy());
  const port = istiod.addresses["httpsAddr"]?.port ?? 0;

  const post = (body: string | Uint8Array, path = "/inject"): Promise<WebhookAnswer> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const call = request({ agent, host: "127.0.0.1", port, path, method: "POST", headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        response.on("error", reject);
      });
      call.on("error", reject).end(body);
    });

  /** Returns the pod as the API server creates it. @throws Error if it is refused */
  const inject = async (pod: unknown): Promise<unknown> => {
    const { status, body } = await post(JSON.stringify(reviewOf(pod)));
    if (status !== 200) throw new Error(`${status} ${body}`);
    const { response } = JSON.parse(body) as Review;
    if (!response.allowed) throw new Error(response.status?.message);
    if (response.patch === undefined) return pod;
    return applyJsonPatch(pod, JSON.parse(Buffer.from(response.patch, "base64").toString()) as never);
  };
  const update = async (contents: CaseFiles): Promise<void> => {
    for (const map of maps(contents)) await server.objects.update(map);
  };
  return { server, istiod, inject, post, update };
}

const configMap = (name: string, data: Readonly<Record<string, string>>) =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data }) as never;

/** Returns the review of a Pod that is created. */
export const reviewOf = (object: unknown) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    operation: "CREATE",
    userInfo: { username: "ada" },
    object,
  },
});
