import { readFile } from "node:fs/promises";
import type { CaseFiles } from "@istiod/injector/testing";
import { expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { serveInjection } from "./injection-webhook.js";

/** The parts of `@istiod/manifests` that the test uses. The package is not a dependency of this one. */
interface ManifestsModule {
  completeCharts(): Promise<unknown>;
  renderChart(
    chart: string,
    options: { readonly release: string; readonly namespace: string; readonly values: object },
  ): Promise<
    readonly {
      readonly kind: string;
      readonly metadata: { readonly name: string };
      readonly data?: Readonly<Record<string, string>>;
    }[]
  >;
}

/** Values that Helm accepts: tools/manifests/test/charts.test.ts renders the chart with them. */
const valuesFile = new URL("../../../tools/manifests/test/values/istiod/custom-templates.yaml", import.meta.url);

/** Returns the contents of the ConfigMaps that the chart has with these values. */
async function installed(values: object): Promise<CaseFiles> {
  const name = "@istiod/manifests";
  const { completeCharts, renderChart } = (await import(name)) as ManifestsModule;
  await completeCharts();
  const objects = await renderChart("istiod", { release: "istiod", namespace: "istio-system", values });
  const dataOf = (map: string) =>
    objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === map)?.data ?? {};
  const { config = "", values: injected = "" } = dataOf("istio-sidecar-injector");
  return { injectConfig: config, values: injected, meshConfig: dataOf("istio")["mesh"] ?? "" };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

const pod = (annotations: Readonly<Record<string, string>> = {}) => ({
  metadata: { name: "web", namespace: "shop", labels: { app: "web" } as Record<string, string>, annotations },
  spec: { containers: [{ name: "app", image: "app" }] as readonly Container[] },
});
type Pod = ReturnType<typeof pod>;

test(
  "pods get the templates of a values file of Helm: default ones, chosen ones, and those of an alias",
  { timeout: 240_000 },
  async () => {
    const files = await installed(parse(await readFile(valuesFile, "utf8")) as object);
    // Proxies are containers, so that all containers are in one list.
    const webhook = await serveInjection(files, { ENABLE_NATIVE_SIDECARS: "false" });
    const inject = async (templates?: string) => {
      const annotations = templates === undefined ? {} : { "inject.istio.io/templates": templates };
      const { metadata, spec } = (await webhook.inject(pod(annotations))) as Pod;
      const proxy = spec.containers.find(({ name }) => name === "istio-proxy");
      return {
        label: metadata.labels["company"],
        containers: spec.containers.map(({ name }) => name).toSorted(),
        variables: proxy?.env?.filter(({ name }) => ["COMPANY", "ISTIO_META_NETWORK"].includes(name)) ?? [],
        image: spec.containers.find(({ name }) => name === "debug")?.image,
      };
    };

    const company = { name: "COMPANY", value: "web" };
    const network = { name: "ISTIO_META_NETWORK", value: "north" };
    expect(await inject()).toEqual({
      label: "north",
      containers: ["app", "istio-proxy"],
      variables: expect.arrayContaining([company, network]) as unknown,
    });
    const { global } = JSON.parse(files.values) as { readonly global: { readonly hub: string } };
    const image = `${global.hub}/debug`;
    expect(await inject("debug")).toEqual({ containers: ["app", "debug"], variables: [], image });
    await expect(inject("absent")).rejects.toThrow(
      'requested template "absent" not found; have company, debug, gateway, grpc-agent, grpc-simple, kube-gateway, sidecar, waypoint',
    );

    // The values have no aliases, as in Istio. They are a field of the configuration.
    const config = parse(files.injectConfig) as object;
    await webhook.update({ ...files, injectConfig: stringify({ ...config, aliases: { all: ["sidecar", "debug"] } }) });
    await vi.waitFor(
      async () =>
        expect(await inject("all")).toMatchObject({
          containers: ["app", "debug", "istio-proxy"],
          variables: [network],
          image,
        }),
      { timeout: 60_000, interval: 50 },
    );
    expect((await inject("all, company")).label).toBe("north");
  },
);
