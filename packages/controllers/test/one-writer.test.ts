import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { locks, namespaceController, runController, runElected } from "@istiod/controllers";
import { type ApiClient, ApiError, type ApiRequest, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type ApiServer, startApiServer } from "@istiod/kubernetes/testing";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { expect, it, onTestFinished } from "vitest";
import { Changeable, eventually, meshSettings, RecordedLog } from "./support/cluster.js";

/** Losses of leadership to force. */
const losses = Number(process.env["LEADERSHIP_LOSSES"] ?? 25);
const namespaces = Array.from({ length: 10 }, (_, at) => `n-${at}`);
/** Istio's lease of 30 s lasts half a second. */
const speed = 60;
const fast: Clock = {
  now: () => monotonicClock.now() * speed,
  after: (delay, callback) => monotonicClock.after(delay / speed, callback),
};
const lock = locks.namespaces.name;

/** A write that reached the API server, with the holder of the lock before and after its execution. */
interface RecordedWrite {
  readonly writer: string;
  readonly holders: readonly (string | undefined)[];
}

function holderOf({ objects }: ApiServer): string | undefined {
  const found = objects.get({ apiVersion: "v1", kind: "ConfigMap", namespace: "istio-system", name: lock });
  const record = found?.metadata.annotations?.["control-plane.alpha.kubernetes.io/leader"];
  return record && (JSON.parse(record) as { readonly holderIdentity: string }).holderIdentity;
}

/** Forwards requests to an API server, and records those that write anything but the lock. */
async function recordingProxy(server: ApiServer, writes: RecordedWrite[]): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const { method = "GET", url = "/", headers } = incoming;
    const before = holderOf(server);
    const forwarded = request(new URL(url, server.url), { method, headers }, (answer) => {
      if (method !== "GET" && isRootWrite(url))
        writes.push({ writer: String(headers["user-agent"]), holders: [before, holderOf(server)] });
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

const isRootWrite = (url: string): boolean => !url.includes("/istio-system/");

/** A replica of istiod whose access to the lock, or to everything, can be cut off. */
class Replica {
  cutOff: "nothing" | "lock" | "everything" = "nothing";
  readonly #client: ApiClient;
  readonly #candidacy: ReturnType<typeof runElected>;

  constructor(identity: string, client: ApiClient, roots: Changeable<string>) {
    const log = new RecordedLog();
    this.#client = client;
    const guarded: ApiClient = {
      server: client.server,
      send: async (sent) => this.#admit(sent, () => client.send(sent)),
      json: async <T>(sent: ApiRequest) => this.#admit(sent, () => client.json<T>(sent)),
      close: () => client.close(),
    };
    const controller = namespaceController({ roots, mesh: meshSettings() });
    this.#candidacy = runElected(
      locks.namespaces,
      (fenced) => runController(controller, { client: fenced, log, clock: fast }),
      {
        client: guarded,
        namespace: "istio-system",
        identity,
        defaultRevision: () => "",
        log,
        timing: { clock: fast, dates: fast },
      },
    );
  }

  async stop(): Promise<void> {
    await this.#candidacy.stop();
    this.#client.close();
  }

  async #admit<T>(sent: ApiRequest, send: () => Promise<T>): Promise<T> {
    const isLock = sent.path.includes("/namespaces/istio-system/configmaps");
    if (this.cutOff === "everything" || (this.cutOff === "lock" && isLock))
      throw new ApiError("network", `${sent.method ?? "GET"} ${sent.path}: cut off`);
    return send();
  }
}

it(`no two replicas write in ${losses} forced losses of leadership`, { timeout: 600_000 }, async () => {
  const server = await startApiServer({ namespaces: ["istio-system", ...namespaces], authorization: "allow-all" });
  onTestFinished(() => server.stop());
  const writes: RecordedWrite[] = [];
  const url = await recordingProxy(server, writes);
  const kubeconfig = server.kubeconfig.yaml.replace(server.url, url);
  const roots = new Changeable("root 1");
  const create = async (identity: string): Promise<Replica> => {
    const access = await parseKubeconfig(kubeconfig);
    return new Replica(identity, createApiClient(access, { userAgent: identity, qps: 10_000, burst: 10_000 }), roots);
  };
  const replicas = new Map<string, Replica>();
  for (const identity of ["istiod-0", "istiod-1", "istiod-2"]) replicas.set(identity, await create(identity));
  onTestFinished(async () => {
    for (const replica of replicas.values()) await replica.stop();
  });
  // ConfigMaps are deleted all the time, so that every leader has something to write.
  let deleted = 0;
  const busy = setInterval(() => {
    const namespace = namespaces[deleted++ % namespaces.length] ?? "";
    const configMap = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "istio-ca-root-cert" };
    void server.objects.delete(configMap).catch(() => undefined);
  }, 10);
  onTestFinished(() => clearInterval(busy));

  const terms: string[] = [];
  const writer = (after: number): string | undefined => writes.slice(after).at(-1)?.writer;
  for (let loss = 0; loss < losses; loss++) {
    const before = writes.length;
    await eventually(() => expect(writer(before)).toBeDefined());
    const leader = writer(before) ?? "";
    terms.push(leader);
    const replica = replicas.get(leader);
    if (loss % 3 === 2) {
      await replica?.stop();
      replicas.set(leader, await create(leader));
    } else if (replica) {
      replica.cutOff = loss % 3 === 0 ? "lock" : "everything";
      await eventually(() => expect(writes.at(-1)?.writer).not.toBe(leader));
      replica.cutOff = "nothing";
    }
  }
  expect(terms).toHaveLength(losses);
  expect(new Set(terms).size).toBe(3);
  expect(writes.filter(({ writer, holders }) => holders.some((holder) => holder !== writer))).toEqual([]);
});
