import { join } from "node:path";
import { analyze } from "@istiod/commands/testing";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test } from "vitest";
import { remoteSecret } from "./remote-mesh.js";
import { folder, serve } from "./serving.js";

test("Secrets of remote clusters are judged in the cluster, and said not to be read in the directory", async () => {
  const server = await startApiServer({ authorization: "allow-all", namespaces: ["istio-system"] });
  onTestFinished(() => server.stop());
  for (const name of ["of-cluster", "of-both"]) await server.objects.create(remoteSecret(name, { [name]: "hello" }));
  const files = Object.fromEntries(
    ["of-directory", "of-both"].map((name) => [
      `${name}.yaml`,
      JSON.stringify(remoteSecret(name, { [name]: "hello" })),
    ]),
  );
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const istiod = await serve({ kubeconfig, configDir: await folder(files) });
  const { out } = await analyze(["--istiod", istiod.http, "-o", "json"]);
  const found = JSON.parse(out) as readonly {
    readonly code: string;
    readonly origin: string;
    readonly message: string;
  }[];
  const ofSecrets = found.filter(({ code }) => code === "MESH0076");
  const malformed = (name: string): string =>
    `Secret istio-system/${name}: cluster "${name}" is not read: its kubeconfig is not a mapping`;
  expect(ofSecrets.map(({ origin, message }) => `${origin}: ${message}`).sort()).toEqual([
    malformed("of-both"),
    malformed("of-cluster"),
    "Secret istio-system/of-directory: has no effect: Secrets of remote clusters are read only from the API server, not from a directory",
  ]);
});
