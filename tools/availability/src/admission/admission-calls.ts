import { setTimeout as wait } from "node:timers/promises";
import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { ClusterUser } from "../cluster/cluster-user.js";
import { tag } from "../cluster/objects.js";

const pods: ResourceType = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const virtualServices: ResourceType = {
  group: "networking.istio.io",
  version: "v1",
  kind: "VirtualService",
  plural: "virtualservices",
  namespaced: true,
};

/** Figures since the last ones were taken. */
export interface AdmissionFigures {
  readonly calls: number;
  /** Calls that the API server could not make, and that succeeded when they were repeated. */
  readonly repeated: number;
  /** Answers other than the webhooks' verdicts. */
  readonly errors: readonly string[];
}

/** Creates pods and objects in dry runs, so that the API server calls the webhooks, and checks the verdicts. */
export class AdmissionCalls {
  readonly #user: ClusterUser;
  readonly #namespace: string;
  readonly #revision: () => string;
  readonly #running: Promise<void>;
  #isClosed = false;
  #calls = 0;
  #repeated = 0;
  #errors: string[] = [];
  readonly #injectedBy = new Set<string>();

  /** @param revision returns the revision whose webhook validates */
  constructor(user: ClusterUser, namespace: string, everyMs: number, revision: () => string) {
    this.#user = user;
    this.#namespace = namespace;
    this.#revision = revision;
    this.#running = this.#run(everyMs);
  }

  /** Revisions that have injected pods since figures were taken. */
  get injectedBy(): readonly string[] {
    return [...this.#injectedBy];
  }

  take(): AdmissionFigures {
    const figures = {
      calls: this.#calls,
      repeated: this.#repeated,
      errors: this.#errors,
    };
    this.#calls = 0;
    this.#repeated = 0;
    this.#errors = [];
    this.#injectedBy.clear();
    return figures;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(everyMs: number): Promise<void> {
    const checks = [() => this.#inject(), () => this.#accept(), () => this.#reject()];
    for (let at = 0; !this.#isClosed; at++) {
      this.#calls++;
      const check = checks[at % checks.length];
      if (check !== undefined) await this.#call(check);
      await wait(everyMs);
    }
  }

  /** Makes a call, and repeats it once if the webhook did not answer, as controllers do. */
  async #call(check: () => Promise<void>): Promise<void> {
    try {
      await check().catch((error: Error) => {
        if (!error.message.includes("failed calling webhook")) throw error;
        this.#repeated++;
        return check();
      });
    } catch (error) {
      this.#errors.push(`${new Date().toISOString()}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #inject(): Promise<void> {
    const pod: KubernetesObject & { readonly spec: { readonly containers: readonly { readonly name: string }[] } } = {
      metadata: { name: "dry-run", namespace: this.#namespace, labels: { "istio.io/rev": tag } },
      spec: { containers: [{ name: "app", image: "app" } as { readonly name: string }] },
    };
    const { metadata, spec } = await this.#user.dryRun(pods, pod);
    if (!spec.containers.some(({ name }) => name === "istio-proxy")) throw new Error("the pod was not injected");
    this.#injectedBy.add(metadata?.annotations?.["istio.io/rev"] ?? "");
  }

  async #accept(): Promise<void> {
    await this.#user.dryRun(virtualServices, this.#virtualService(100));
  }

  async #reject(): Promise<void> {
    const message = await this.#user.dryRun(virtualServices, this.#virtualService("most")).then(
      () => "accepted",
      (error: Error) => error.message,
    );
    if (!message.includes("denied the request")) throw new Error(`an invalid VirtualService: ${message}`);
  }

  #virtualService(weight: unknown): KubernetesObject {
    const object = {
      metadata: { name: "dry-run", namespace: this.#namespace, labels: { "istio.io/rev": this.#revision() } },
      spec: { hosts: ["cart"], http: [{ route: [{ destination: { host: "cart" }, weight }] }] },
    };
    return object as KubernetesObject;
  }
}
