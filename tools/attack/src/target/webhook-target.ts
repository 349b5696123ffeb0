import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort, selfSignedRoot, startIstiod } from "@istiod/bench";
import { startApiServer } from "@istiod/kubernetes/testing";
import { Closers } from "@istiod/runtime";
import { isRunning, strangerAddress } from "./istiod-target.js";
import { openSockets } from "./sockets.js";
import type { Target } from "./target.js";
import { reviewOf, virtualService, type WebhookAddress, WebhookCaller } from "./webhook-caller.js";

/** The parts of an istiod with webhooks that attacks use. */
export interface AttackedWebhooks {
  /** For connections of the attacker. */
  readonly webhooks: WebhookAddress;
}

/** A running istiod with webhooks, and an API server that calls them. */
export interface WebhookTarget extends AttackedWebhooks, Target {}

export interface WebhookTargetOptions {
  /** Limit of V8's old generation in MiB. Default 512. */
  readonly heapMiB?: number;
  readonly attackerAddress?: string;
}

const namespace = "istio-system";
const honestAddress = "127.0.0.1";
const reviewIntervalMs = 100;
const updateMs = 30_000;
const checkMs = 200;
/** Checks with the same number of sockets after which it counts as steady, and all checks. */
const steadyChecks = 10;
const maxChecks = 100;

/** Starts a built istiod with a small heap that validates objects of an API server in memory. */
export async function startWebhookTarget(options: WebhookTargetOptions = {}): Promise<WebhookTarget> {
  const { heapMiB = 512, attackerAddress = strangerAddress } = options;
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const work = await mkdtemp(join(tmpdir(), "istiod-webhooks-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const server = await startApiServer({ types: [], namespaces: [namespace], authorization: "allow-all" });
    closers.defer(() => server.stop());
    await server.objects.create(injectionTemplates);
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig.yaml, { mode: 0o600 });
    const port = await freePort();
    const istiod = await startIstiod({
      kubeconfig,
      maxOldSpaceMiB: heapMiB,
      recordLongTurns: true,
      flags: { namespace, secureGRPCAddr: "127.0.0.1:0", httpsAddr: `127.0.0.1:${port}` },
    });
    closers.defer(() => istiod.stop());
    const root = selfSignedRoot(server);
    const address = { port, root, localAddress: honestAddress };
    const reviewer = new Reviewer(address);
    closers.defer(() => reviewer.stop());
    await untilConnected(istiod.pid);
    return {
      webhooks: { port, root, localAddress: attackerAddress },
      pid: istiod.pid,
      readyUrl: `${istiod.http}/ready`,
      get streamsLost() {
        return reviewer.failures;
      },
      longTurns: () => istiod.longTurns(),
      isAlive: () => isRunning(istiod.pid),
      join: () => firstAnswer(address),
      update: () => isValidated(address),
      close: () => closers.close(),
    };
  });
}

/** The parts of Istio's template whose cost grows with a Pod. */
const injectionTemplates = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "istio-sidecar-injector", namespace },
  data: {
    config: `
policy: enabled
defaultTemplates: [sidecar]
templates:
  sidecar: |
    spec:
      containers:
      - name: istio-proxy
        image: "{{ .ProxyImage }}"
        env:
        - name: ISTIO_META_APP_CONTAINERS
          value: "{{ range $index, $container := .Spec.Containers }}{{ $container.Name }},{{ end }}"
        - name: ISTIO_META_POD_PORTS
          value: |-
            [
            {{- range $container := .Spec.Containers }}{{ range $port := $container.Ports }}
            {{ structToJSON $port }},
            {{- end }}{{ end }}
            ]
      volumes:
      {{- range $name, $volume := fromJSON (index .ObjectMeta.Annotations "sidecar.istio.io/userVolume") }}
      - name: "{{ $name }}"
        emptyDir: {}
      {{- end }}
`,
    values: '{"global": {"hub": "example.com"}}',
  },
};

/** Returns the review of a VirtualService whose route has a weight. */
const reviewWith = (weight: unknown): string =>
  reviewOf(virtualService([{ route: [{ destination: { host: "cart" }, weight }] }]));

/** Waits until an istiod has opened its watches, which it does after it is ready. */
async function untilConnected(pid: number): Promise<void> {
  let sockets = openSockets(pid);
  for (let same = 0, checks = 0; same < steadyChecks && checks < maxChecks; checks++) {
    await wait(checkMs);
    const now = openSockets(pid);
    same = now === sockets ? same + 1 : 0;
    sockets = now;
  }
}

/** An API server that has an object reviewed at intervals, over a connection of its own. */
class Reviewer {
  /** Reviews without the expected answer. */
  failures = 0;
  readonly #caller: WebhookCaller;
  #isStopped = false;

  constructor(address: WebhookAddress) {
    this.#caller = new WebhookCaller(address);
    void this.#review();
  }

  stop(): void {
    this.#isStopped = true;
    this.#caller.close();
  }

  async #review(): Promise<void> {
    while (!this.#isStopped) {
      const isAllowed = await this.#caller.isAllowed(reviewWith(100)).catch(() => false);
      if (!isAllowed && !this.#isStopped) this.failures++;
      await wait(reviewIntervalMs);
    }
  }
}

/** Connects another API server, which repeats its review until it is answered. */
function firstAnswer(address: WebhookAddress): { waitMs(): Promise<number | undefined> } {
  const startedAt = performance.now();
  const caller = new WebhookCaller(address);
  const answer = (async () => {
    for (const end = startedAt + updateMs; performance.now() < end; await wait(20))
      if (await caller.isAllowed(reviewWith(100)).catch(() => false)) return performance.now() - startedAt;
    return undefined;
  })().finally(() => caller.close());
  return { waitMs: () => answer };
}

/** Reports whether a valid object is allowed, and an invalid one denied. */
async function isValidated(address: WebhookAddress): Promise<boolean> {
  const caller = new WebhookCaller(address);
  try {
    return (await caller.isAllowed(reviewWith(100))) && !(await caller.isAllowed(reviewWith("most")));
  } finally {
    caller.close();
  }
}
