import type { RemoteClusterChange } from "@istiod/config-ingestion";
import { RemoteControllers } from "@istiod/controllers";
import type { ApiClient } from "@istiod/kubernetes";
import { expect, test } from "vitest";

const given = (type: "add" | "replace", kubeconfig: string): RemoteClusterChange =>
  ({ type, remote: { cluster: "east", kubeconfig, origin: "Secret istio-system/east" } }) as RemoteClusterChange;

/** Remote controllers whose clients and starts are noted. */
function remotes(start: (kubeconfig: string) => Promise<void> = async () => undefined) {
  const events: string[] = [];
  const warnings: string[] = [];
  const controllers = new RemoteControllers({
    connect: async (kubeconfig) =>
      ({ name: kubeconfig, close: () => events.push(`close ${kubeconfig}`) }) as unknown as ApiClient,
    start: async (cluster, client) => {
      const { name } = client as unknown as { readonly name: string };
      await start(name);
      events.push(`start ${cluster} ${name}`);
      return async () => void events.push(`stop ${cluster} ${name}`);
    },
    log: { warn: (_, message) => void warnings.push(message) },
  });
  return { controllers, events, warnings };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("controllers run while the cluster is known, and new credentials replace them after they have ended", async () => {
  const { controllers, events } = remotes();
  controllers.change(given("add", "one"));
  await settled();
  controllers.change(given("replace", "two"));
  await settled();
  expect(events).toEqual(["start east one", "stop east one", "close one", "start east two"]);
  controllers.change({ type: "remove", cluster: "east" } as RemoteClusterChange);
  await settled();
  expect(events.slice(4)).toEqual(["stop east two", "close two"]);
  await controllers.stop();
  expect(events).toHaveLength(6);
});

test("controllers that cannot start are logged with the cluster, and their client is closed", async () => {
  const { controllers, events, warnings } = remotes(() => Promise.reject(new Error("no namespace")));
  controllers.change(given("add", "one"));
  await settled();
  expect(warnings).toEqual(["controllers of cluster east: Error: no namespace"]);
  expect(events).toEqual(["close one"]);
  await controllers.stop();
});

test("stop ends the controllers of all clusters", async () => {
  const { controllers, events } = remotes();
  controllers.change(given("add", "one"));
  await settled();
  await controllers.stop();
  expect(events).toEqual(["start east one", "stop east one", "close one"]);
});
