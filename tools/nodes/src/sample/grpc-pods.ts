import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";
import type { ApiClient } from "@istiod/kubernetes";
import type { Pod } from "../kube/objects.js";
import { type AnyObject, ObjectApplier } from "./apply-objects.js";
import { SYSTEM_NAMESPACE, waitForDeployment } from "./install-bookinfo.js";

/** The injection templates of applications without a proxy. */
export type GrpcTemplate = "grpc-agent" | "grpc-simple";

export interface GrpcPodsOptions {
  /** The namespace of all objects, which is created. */
  readonly namespace: string;
  readonly template: GrpcTemplate;
  /**
   * Images of the server and of the client: programs as in tools/proxyless, whose command is in the environment
   * variable `PROBE` of the image.
   */
  readonly server: string;
  readonly client: string;
  /** Restarts istiod while calls are made. Default true. */
  readonly restartsIstiod?: boolean;
  /** Milliseconds until each outcome must have been seen. Default 60,000. */
  readonly timeoutMs?: number;
  /** Receives each outcome once it has been seen. */
  readonly report?: (seen: string) => void;
}

const port = 7070;
const patienceMs = 60_000;
const networking = "networking.istio.io/v1";
const security = "security.istio.io/v1";

/**
 * Runs a server and a client of gRPC in Pods without a proxy, and waits until calls are answered, denied by a policy,
 * and neither interrupted nor frozen by a restart of istiod. With `grpc-agent` they use mutual TLS, and a client of
 * `grpc-simple`, which has no certificate, must fail.
 *
 * @throws Error that names the outcome that was not seen, with the last one
 */
export async function runGrpcPods(client: ApiClient, options: GrpcPodsOptions): Promise<void> {
  const { namespace, template, restartsIstiod = true, report = () => undefined } = options;
  const pods = new GrpcPods(client, options);
  const isSecure = template === "grpc-agent";
  await pods.start(isSecure);
  await pods.until("caller", 0);
  report("calls are answered");
  if (isSecure) {
    await pods.until("stranger", 14);
    report("calls without mutual TLS fail");
  }
  const denied = isSecure
    ? { from: [{ source: { principals: [`cluster.local/ns/${namespace}/sa/caller`] } }] }
    : { to: [{ operation: { paths: ["/test.Echo/Say"] } }] };
  await pods.deny(denied);
  await pods.until("caller", 7);
  report("calls are denied by a policy");
  if (!restartsIstiod) return;
  await pods.allow();
  await pods.until("caller", 0);
  const before = await pods.failures("caller");
  await pods.restartIstiod();
  await pods.until("caller", 0);
  const failed = (await pods.failures("caller")) - before;
  if (failed > 0) throw new Error(`${failed} calls failed while istiod was restarted`);
  report("calls are answered while istiod is restarted");
  await pods.deny(denied);
  await pods.until("caller", 7);
  report("the restarted istiod denies calls by a policy");
}

/** The objects of one run. */
class GrpcPods {
  readonly #client: ApiClient;
  readonly #options: GrpcPodsOptions;
  readonly #applier: ObjectApplier;

  constructor(client: ApiClient, options: GrpcPodsOptions) {
    this.#client = client;
    this.#options = options;
    this.#applier = new ObjectApplier(client);
  }

  async start(isSecure: boolean): Promise<void> {
    const { namespace, server, client, template } = this.#options;
    const ports = [{ name: "grpc", port, appProtocol: "grpc" }];
    const flags = isSecure ? " --secure" : "";
    const host = `server.${namespace}.svc.cluster.local`;
    await this.#applier.apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: injected } } as AnyObject,
      ...["server", "caller", "stranger"].map((name) => this.#object("v1", "ServiceAccount", name, {})),
      this.#object("v1", "Service", "server", { spec: { selector: { app: "server" }, ports } }),
      ...(isSecure ? [this.#object(security, "PeerAuthentication", "strict", strict), this.#mutualTls(host)] : []),
      this.#pod("server", template, server, `$PROBE serve --listen 0.0.0.0:${port} --name server --xds${flags}`),
      this.#pod("caller", template, client, calls(host, flags)),
      ...(isSecure ? [this.#pod("stranger", "grpc-simple", client, calls(host, ""))] : []),
    ]);
  }

  /** Waits for a call of a Pod that ends with a gRPC status. */
  async until(pod: string, code: number): Promise<void> {
    const deadline = Date.now() + (this.#options.timeoutMs ?? patienceMs);
    for (;;) {
      const last = (await this.#log(pod, 1).catch((error: unknown) => String(error))).trim();
      if (codeOf(last) === code) return;
      if (Date.now() > deadline) throw new Error(`${pod}: no call with status ${code}; the last output is ${last}`);
      await sleep(200);
    }
  }

  /** Returns the number of a Pod's calls that have failed. */
  async failures(pod: string): Promise<number> {
    const lines = (await this.#log(pod)).split("\n").filter((line) => line.startsWith("["));
    return lines.filter((line) => codeOf(line) !== 0).length;
  }

  async deny(rule: object): Promise<void> {
    await this.#applier.apply([this.#object(security, "AuthorizationPolicy", "deny", denying(rule))]);
  }

  async allow(): Promise<void> {
    const path = await this.#applier.pathOf(this.#object(security, "AuthorizationPolicy", "deny", {}));
    await this.#client.json({ method: "DELETE", path });
  }

  /**
   * Replaces all Pods of istiod, and waits until the new ones are ready.
   *
   * @throws Error that names the old Pods that still exist when the time is over
   */
  async restartIstiod(): Promise<void> {
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/pods`;
    const istiods = async (): Promise<readonly string[]> => {
      const query = { labelSelector: "app=istiod" };
      const { items } = await this.#client.json<{ items: readonly Pod[] }>({ path, query });
      return items.map(({ metadata }) => metadata.name);
    };
    const old = await istiods();
    for (const name of old) await this.#client.json({ method: "DELETE", path: `${path}/${name}` });
    const timeoutMs = this.#options.timeoutMs ?? patienceMs;
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const left = (await istiods()).filter((name) => old.includes(name));
      if (left.length === 0) break;
      if (Date.now() > deadline)
        throw new Error(`Pods of istiod still exist after ${timeoutMs / 1000} s: ${left.join(", ")}`);
      await sleep(200);
    }
    await waitForDeployment(this.#client, SYSTEM_NAMESPACE, "istiod", { timeoutMs });
  }

  async #log(pod: string, tailLines?: number): Promise<string> {
    const path = `/api/v1/namespaces/${this.#options.namespace}/pods/${pod}/log`;
    const query = { container: pod, ...(tailLines !== undefined && { tailLines }) };
    return await text((await this.#client.send({ path, query })).body);
  }

  #mutualTls(host: string): AnyObject {
    const spec = { host, trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } };
    return this.#object(networking, "DestinationRule", "server", { spec });
  }

  #pod(name: string, template: GrpcTemplate, image: string, script: string): AnyObject {
    const { namespace } = this.#options;
    const annotations = { "inject.istio.io/templates": template, "proxy.istio.io/config": bootstrapFirst };
    const env = [{ name: "GRPC_XDS_EXPERIMENTAL_RBAC", value: "true" }];
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, annotations, labels: { app: name } },
      spec: {
        serviceAccountName: name,
        terminationGracePeriodSeconds: 1,
        containers: [{ name, image, env, command: ["sh", "-c", script] }],
      },
    } as AnyObject;
  }

  #object(apiVersion: string, kind: string, name: string, rest: object): AnyObject {
    return { apiVersion, kind, metadata: { name, namespace: this.#options.namespace }, ...rest };
  }
}

/** Libraries read the bootstrap once, so that the application must start after the agent has written it. */
const bootstrapFirst = '{"holdApplicationUntilProxyStarts": true}';
const injected = { "istio-injection": "enabled" };
const strict = { spec: { mtls: { mode: "STRICT" } } };
const denying = (rule: object): object => ({
  spec: { selector: { matchLabels: { app: "server" } }, action: "DENY", rules: [rule] },
});

/** Returns the status of a call in a line of a client's output; undefined in other lines. */
function codeOf(line: string): number | undefined {
  const [, code] = /^\[\{"code": ?(\d+),/.exec(line) ?? [];
  return code === undefined ? undefined : Number(code);
}

/** Returns a script that calls once and again, and prints each outcome. */
function calls(host: string, flags: string): string {
  const each = `echo '{"count":1,"targets":[],"metadata":{},"deadline":3000}'; sleep 0.3`;
  return `while :; do ${each}; done | $PROBE call --target xds:///${host}:${port}${flags}`;
}
