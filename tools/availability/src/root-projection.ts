import { setTimeout as wait } from "node:timers/promises";
import type { ClusterUser } from "./cluster/cluster-user.js";

const everyMs = 500;

/** The mounts of the ConfigMap `istio-ca-root-cert`, which a kubelet updates after a controller of istiod has. */
export class RootProjection {
  readonly #user: ClusterUser;
  #pem: string;
  #isClosed = false;
  #running: Promise<void> = Promise.resolve();

  constructor(user: ClusterUser, pem: string) {
    this.#user = user;
    this.#pem = pem;
  }

  /** The roots that pods mount now. */
  get pem(): string {
    return this.#pem;
  }

  /** Mounts the roots of a namespace, and each change. */
  follow(namespace: string, mount: (pem: string) => Promise<void>): void {
    this.#running = this.#run(namespace, mount);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #run(namespace: string, mount: (pem: string) => Promise<void>): Promise<void> {
    while (!this.#isClosed) {
      const pem = await this.#user.rootCertificates(namespace);
      if (pem !== undefined && pem !== this.#pem) {
        this.#pem = pem;
        await mount(pem);
      }
      await wait(everyMs);
    }
  }
}
