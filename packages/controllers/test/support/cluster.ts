import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type MeshConfig, MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type ApiClient, createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { type ApiServer, type ApiServerOptions, startApiServer } from "@istiod/kubernetes/testing";
import { onTestFinished, vi } from "vitest";
import type { Controller, ControllerLog, RunningController, RunOptions } from "@istiod/controllers";
import { runController } from "@istiod/controllers";

/** An API server with a client for the controller under test. */
export interface TestCluster {
  readonly server: ApiServer;
  readonly client: ApiClient;
  readonly log: RecordedLog;
  /** Starts a controller that is stopped with the test. */
  run(controller: Controller, options?: Pick<RunOptions, "onWrite">): RunningController;
  /** Returns the requests that wrote since the start, as `PATCH /path`. */
  writes(): readonly string[];
}

/** Starts an API server that is stopped with the test. */
export async function testCluster(options: ApiServerOptions = {}): Promise<TestCluster> {
  const server = await startApiServer({ authorization: "allow-all", ...options });
  const client = createApiClient(await parseKubeconfig(server.kubeconfig.yaml), { qps: 10_000, burst: 10_000 });
  const log = new RecordedLog();
  const running: RunningController[] = [];
  onTestFinished(async () => {
    for (const controller of running) controller.stop();
    client.close();
    await server.stop();
  });
  return {
    server,
    client,
    log,
    run: (controller, options = {}) => {
      const started = runController(controller, { ...options, client, log });
      running.push(started);
      return started;
    },
    writes: () =>
      server.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`),
  };
}

/** Waits until a check does not throw. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 60_000, interval: 20 });
}

/** A log that keeps its lines. */
export class RecordedLog implements ControllerLog {
  readonly lines: string[] = [];
  info(_: object, message: string): void {
    this.lines.push(`info ${message}`);
  }
  warn(_: object, message: string): void {
    this.lines.push(`warn ${message}`);
  }
  error(_: object, message: string): void {
    this.lines.push(`error ${message}`);
  }
}

/** An input of a controller that tests change. */
export class Changeable<T> {
  readonly #listeners = new Set<() => void>();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  current(): T {
    return this.#value;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  set(value: T): void {
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}

/** Returns a mesh configuration with some fields set, which a test may change. */
export function meshSettings(fields: MessageInitShape<typeof MeshConfigSchema> = {}): Changeable<MeshConfig> {
  return new Changeable(create(MeshConfigSchema, { ...fields }));
}
