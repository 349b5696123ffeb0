import { type KubernetesObject, podObject } from "../../mesh/objects.js";
import type { Dimension } from "../dimension.js";
import {
  clientObjects,
  clientPlace,
  hostOf,
  istio,
  namespace,
  pod,
  podAddress,
  service,
  serviceAddress,
  slice,
  times,
} from "../objects.js";

const big = hostOf("big");
const bigCluster = `outbound|80||${big}`;
const proxy = clientPlace;

/** Returns a service's slices of at most as many addresses as Kubernetes writes into one. */
function slices(count: number, perSlice: number): KubernetesObject[] {
  return times(Math.ceil(count / perSlice), (index) =>
    slice(
      `big-${index}`,
      "big",
      times(Math.min(perSlice, count - index * perSlice), (at) => podAddress(index * perSlice + at)),
    ),
  );
}

const endpoints: Dimension = {
  name: "endpoints",
  counts: "endpoints of a service, in slices of 1,000",
  sizes: [10, 1000, 10_000, 100_000],
  smallSizes: [10, 2500],
  fromCluster: 10_000,
  mesh(size) {
    const first = times(Math.min(size, 1000), podAddress);
    return {
      objects: [...clientObjects, service("big", serviceAddress(0)), ...slices(size, 1000)],
      proxy,
      change: slice("big-0", "big", first.slice(1)),
      read: (config) => config.endpoints(bigCluster),
      expected: times(size, (index) => `${podAddress(index)}:8080`),
      expectedAfterChange: times(size - 1, (index) => `${podAddress(index + 1)}:8080`),
    };
  },
};

const endpointSlices: Dimension = {
  name: "endpoint-slices",
  counts: "EndpointSlices of a service, of one endpoint each",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 200],
  fromCluster: 1000,
  mesh(size) {
    const addresses = times(size, (index) => `${podAddress(index)}:8080`);
    return {
      objects: [...clientObjects, service("big", serviceAddress(0)), ...slices(size, 1)],
      proxy,
      change: slice("big-0", "big", [podAddress(2_000_000)]),
      read: (config) => config.endpoints(bigCluster),
      expected: addresses,
      expectedAfterChange: [...addresses.slice(1), `${podAddress(2_000_000)}:8080`],
    };
  },
};

const workloadEntries: Dimension = {
  name: "workload-entries",
  counts: "WorkloadEntries that a ServiceEntry selects",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 200],
  mesh(size) {
    const entry = (index: number, address: string): KubernetesObject =>
      istio("WorkloadEntry", `vm-${index}`, { address, labels: { app: "vm" } });
    const addresses = times(size, (index) => `${podAddress(index)}:8080`);
    return {
      objects: [
        ...clientObjects,
        istio("ServiceEntry", "vms", {
          hosts: ["vm.example.org"],
          ports: [{ number: 80, targetPort: 8080, name: "http", protocol: "HTTP" }],
          resolution: "STATIC",
          location: "MESH_INTERNAL",
          workloadSelector: { labels: { app: "vm" } },
        }),
        ...times(size, (index) => entry(index, podAddress(index))),
      ],
      proxy,
      change: entry(0, podAddress(2_000_000)),
      read: (config) => config.endpoints("outbound|80||vm.example.org"),
      expected: addresses,
      expectedAfterChange: [...addresses.slice(1), `${podAddress(2_000_000)}:8080`],
    };
  },
};

const ports: Dimension = {
  name: "ports",
  counts: "HTTP ports of a service",
  sizes: [1, 10, 100, 1000],
  smallSizes: [1, 30],
  mesh(size) {
    const all = times(size, (index) => ({ name: `http-${index}`, port: 1024 + index, target: 21024 + index }));
    const clusters = all.map(({ port }) => `outbound|${port}||${big}`);
    return {
      objects: [
        ...clientObjects,
        service("big", serviceAddress(0), { ports: all }),
        slice("big", "big", [podAddress(0)], { ports: all }),
      ],
      proxy,
      change: service("big", serviceAddress(0), {
        ports: [...all.slice(1), { name: "http-x", port: 40_000, target: 1 }],
      }),
      read: (config) => config.clusters.map(({ name }) => name).filter((name) => name.endsWith(`||${big}`)),
      expected: clusters,
      expectedAfterChange: [...clusters.slice(1), `outbound|40000||${big}`],
    };
  },
};

const namespaces: Dimension = {
  name: "namespaces",
  counts: "namespaces, with a service each",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 100],
  fromCluster: 1000,
  toEnvoy: 1000,
  mesh(size) {
    const cluster = (index: number): string => `outbound|80||${hostOf("web", `ns-${index}`)}`;
    const clusters = times(size, cluster);
    return {
      objects: [
        ...clientObjects,
        ...times(size, (index) => namespace(`ns-${index}`)),
        ...times(size, (index) => service("web", serviceAddress(index), { namespace: `ns-${index}` })),
        ...times(size, (index) => slice("web", "web", [podAddress(index)], { namespace: `ns-${index}` })),
      ],
      proxy,
      change: service("web", serviceAddress(0), {
        namespace: "ns-0",
        ports: [{ name: "http", port: 81, target: 8080 }],
      }),
      read: (config) => config.clusters.map(({ name }) => name).filter((name) => name.includes("||web.ns-")),
      expected: clusters,
      expectedAfterChange: [...clusters.slice(1), `outbound|81||${hostOf("web", "ns-0")}`],
    };
  },
};

const podsPerService = 10;
const pods: Dimension = {
  name: "pods",
  counts: "Pods, ten of each service",
  sizes: [100, 1000, 10_000, 50_000],
  smallSizes: [20, 500],
  fromCluster: 50_000,
  toEnvoy: 10_000,
  mesh(size) {
    const services = size / podsPerService;
    const own = (index: number): number[] => times(podsPerService, (at) => index * podsPerService + at);
    const name = (index: number): string => `svc-${index}`;
    const addresses = times(size, (index) => `${podAddress(index)}:8080`);
    return {
      objects: [
        ...clientObjects,
        ...times(services, (index) => service(name(index), serviceAddress(index))),
        ...times(services, (index) => slice(name(index), name(index), own(index).map(podAddress))),
        ...times(size, (index) =>
          podObject(pod(`pod-${index}`, index, { app: name(Math.floor(index / podsPerService)) }), 1),
        ),
      ],
      proxy,
      change: slice(name(0), name(0), own(0).slice(1).map(podAddress)),
      read: (config) => times(services, (index) => config.endpoints(`outbound|80||${hostOf(name(index))}`)).flat(),
      expected: addresses,
      expectedAfterChange: addresses.slice(1),
    };
  },
};

const networks: Dimension = {
  name: "networks",
  counts: "networks, with a gateway and an endpoint of one service each",
  sizes: [1, 10, 100, 1000],
  smallSizes: [1, 20],
  mesh(size) {
    const entry = (index: number, address: string): KubernetesObject =>
      istio("WorkloadEntry", `vm-${index}`, {
        address,
        network: `net-${index}`,
        labels: { app: "vm", "security.istio.io/tlsMode": "istio" },
      });
    const gatewayAddress = (index: number): string => `203.0.${100 + (index >> 8)}.${index & 255}`;
    const networks = times(size, (index): [string, object] => [
      `net-${index}`,
      { endpoints: [], gateways: [{ address: gatewayAddress(index), port: 15443 }] },
    ]);
    const local = istio("WorkloadEntry", "local", {
      address: podAddress(2_000_000),
      network: "",
      labels: { app: "vm", "security.istio.io/tlsMode": "istio" },
    });
    const gateways = times(size, (index) => `${gatewayAddress(index)}:15443`);
    return {
      objects: [
        ...clientObjects,
        istio("ServiceEntry", "vms", {
          hosts: ["vm.example.org"],
          ports: [{ number: 80, targetPort: 8080, name: "http", protocol: "HTTP" }],
          resolution: "STATIC",
          location: "MESH_INTERNAL",
          workloadSelector: { labels: { app: "vm" } },
        }),
        local,
        ...times(size, (index) => entry(index, podAddress(index))),
      ],
      networks: { networks: Object.fromEntries(networks) },
      proxy: { ...proxy, metadata: { ...proxy.metadata, NETWORK: "here" } },
      change: istio("WorkloadEntry", "local", {
        address: podAddress(2_000_001),
        network: "",
        labels: { app: "vm", "security.istio.io/tlsMode": "istio" },
      }),
      read: (config) => config.endpoints("outbound|80||vm.example.org"),
      expected: [...gateways, `${podAddress(2_000_000)}:8080`],
      expectedAfterChange: [...gateways, `${podAddress(2_000_001)}:8080`],
    };
  },
};

const clusters: Dimension = {
  name: "clusters",
  counts: "further clusters, with ten endpoints of one service each",
  sizes: [1, 5, 20, 100],
  smallSizes: [1, 4],
  mesh(size) {
    const addresses = (cluster: number): string[] => times(10, (index) => podAddress(cluster * 10 + index));
    const objects = (cluster: number): KubernetesObject[] => [
      service("big", serviceAddress(cluster)),
      slice("big", "big", addresses(cluster)),
    ];
    const all = times(size + 1, addresses)
      .flat()
      .map((address) => `${address}:8080`);
    return {
      objects: [...clientObjects, ...objects(0)],
      clusters: new Map(times(size, (index) => [`remote-${index}`, objects(index + 1)])),
      proxy,
      change: slice("big", "big", addresses(0).slice(1)),
      read: (config) => config.endpoints(bigCluster),
      expected: all,
      expectedAfterChange: all.slice(1),
    };
  },
};

/** A label's name and value of 63 bytes each, the most that Kubernetes takes. */
const longLabel = (index: number): [string, string] => [
  `${"n".repeat(58)}${String(index).padStart(5, "0")}`,
  "v".repeat(63),
];

const labels: Dimension = {
  name: "labels",
  counts: "labels with 63 bytes of name and value, of a Service, a Pod and the proxy",
  sizes: [10, 100, 1000, 2000],
  smallSizes: [10, 300],
  fromCluster: 1000,
  mesh(size) {
    const all = Object.fromEntries(times(size, longLabel));
    const big = pod("big", 0, { app: "big" });
    const object = podObject(big, 1);
    const place = { ...proxy, labels: { ...proxy.labels, ...all } };
    return {
      objects: [
        ...clientObjects,
        service("big", serviceAddress(0), { labels: all }),
        { ...object, metadata: { ...object.metadata, labels: { ...(object.metadata["labels"] as object), ...all } } },
        slice("big", "big", [podAddress(0)]),
      ],
      proxy: { ...place, metadata: { ...place.metadata, LABELS: place.labels } },
      change: slice("big", "big", [podAddress(1)]),
      read: (config) => config.endpoints(bigCluster),
      expected: [`${podAddress(0)}:8080`],
      expectedAfterChange: [`${podAddress(1)}:8080`],
    };
  },
};

const annotations: Dimension = {
  name: "annotations",
  counts: "bytes of annotations of a Service and each of ten Pods",
  sizes: [1024, 16_384, 65_536, 260_000],
  smallSizes: [1024, 260_000],
  fromCluster: 260_000,
  mesh(size) {
    const large = { "example.org/note": "x".repeat(size - "example.org/note".length) };
    return {
      objects: [
        ...clientObjects,
        service("big", serviceAddress(0), { annotations: large }),
        ...times(10, (index) => {
          const object = podObject(pod(`big-${index}`, index, { app: "big" }), 1);
          return { ...object, metadata: { ...object.metadata, annotations: large } };
        }),
        slice("big", "big", times(10, podAddress)),
      ],
      proxy,
      change: slice("big", "big", times(9, podAddress)),
      read: (config) => config.endpoints(bigCluster),
      expected: times(10, (index) => `${podAddress(index)}:8080`),
      expectedAfterChange: times(9, (index) => `${podAddress(index)}:8080`),
    };
  },
};

const proxies: Dimension = {
  name: "proxies",
  counts: "proxies of one namespace",
  sizes: [1, 10, 100, 1000],
  smallSizes: [1, 20],
  mesh(size) {
    const services = 20;
    const name = (index: number): string => `svc-${index}`;
    const clusters = times(services, (index) => `outbound|80||${hostOf(name(index))}`);
    return {
      objects: [
        ...clientObjects,
        ...times(services, (index) => service(name(index), serviceAddress(index))),
        ...times(services, (index) => slice(name(index), name(index), [podAddress(index)])),
      ],
      proxy,
      furtherProxies: size - 1,
      change: slice(name(0), name(0), [podAddress(services)]),
      read: (config) => [
        ...config.clusters.map((cluster) => cluster.name).filter((cluster) => cluster.includes("|svc-")),
        ...config.endpoints(`outbound|80||${hostOf(name(0))}`),
      ],
      expected: [...clusters, `${podAddress(0)}:8080`],
      expectedAfterChange: [...clusters, `${podAddress(services)}:8080`],
    };
  },
};

const sidecars: Dimension = {
  name: "sidecars",
  counts: "Sidecars for single workloads of a namespace",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 100],
  mesh(size) {
    const egress = (...hosts: string[]): object => ({ egress: [{ hosts }] });
    const own = (hosts: readonly string[]): KubernetesObject =>
      istio("Sidecar", "client", { workloadSelector: { labels: { app: "client" } }, ...egress(...hosts) });
    return {
      objects: [
        ...clientObjects,
        service("a", serviceAddress(0)),
        service("b", serviceAddress(1)),
        own([`./${hostOf("a")}`]),
        ...times(size, (index) =>
          istio("Sidecar", `other-${index}`, {
            workloadSelector: { labels: { app: `other-${index}` } },
            ...egress(`./${hostOf("b")}`),
          }),
        ),
      ],
      proxy,
      change: own([`./${hostOf("b")}`]),
      read: (config) => config.clusters.map(({ name }) => name).filter((name) => name.startsWith("outbound|")),
      expected: [`outbound|80||${hostOf("a")}`],
      expectedAfterChange: [`outbound|80||${hostOf("b")}`],
    };
  },
};

export const serviceDimensions: readonly Dimension[] = [
  endpoints,
  endpointSlices,
  workloadEntries,
  ports,
  namespaces,
  pods,
  networks,
  clusters,
  labels,
  annotations,
  proxies,
  sidecars,
];
