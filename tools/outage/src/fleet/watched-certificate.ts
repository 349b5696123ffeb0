import { setTimeout as wait } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { secretType } from "@istiod/xds-server";
import { type Address, XdsClient } from "@istiod/xds-server/testing";
import type { Gateway } from "../cluster/gateway.js";
import type { LossMonitor } from "./loss-monitor.js";

/** Milliseconds before a stream that ended is opened again. */
const reconnectMs = 500;

/** The certificate of a gateway, on a stream over TLS that the gateway's token authenticates. */
export class WatchedCertificate {
  readonly #target: Address;
  readonly #gateway: Gateway;
  readonly #monitor: LossMonitor;
  #client: XdsClient | undefined;
  #isClosed = false;
  #isComplete = false;

  constructor(target: Address, gateway: Gateway, monitor: LossMonitor) {
    this.#target = target;
    this.#gateway = gateway;
    this.#monitor = monitor;
  }

  /** True if the gateway has a stream, which has sent its certificate. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  connect(): void {
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.close();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await this.#stream().catch(() => undefined);
      this.#isComplete = false;
      await wait(reconnectMs);
    }
  }

  /** Follows the certificate on one stream until that ends. */
  async #stream(): Promise<void> {
    const { nodeId, namespace, serviceAccount, certificate, token } = this.#gateway;
    const metadata = { NAMESPACE: namespace, SERVICE_ACCOUNT: serviceAccount, CLUSTER_ID: "Kubernetes" };
    const client = new XdsClient(this.#target, {
      variant: "delta",
      node: create(NodeSchema, { id: nodeId, metadata }),
      headers: { authorization: `Bearer ${token}` },
    });
    this.#client = client;
    const ended = client.ended.then(() => Promise.reject(new Error("the stream has ended")));
    ended.catch(() => undefined);
    try {
      client.subscribe(secretType, [certificate]);
      for (;;) {
        const response = await Promise.race([client.accept(secretType), ended]);
        this.#monitor.receiveDecoded("gateway over TLS", "delta", response);
        this.#isComplete = response.resources.length > 0;
      }
    } finally {
      client.close();
    }
  }
}
