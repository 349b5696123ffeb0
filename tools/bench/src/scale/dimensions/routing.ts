import { UpstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { KubernetesObject } from "../../mesh/objects.js";
import type { Dimension, ScaleMesh } from "../dimension.js";
import type { HeldConfig } from "../held-config.js";
import {
  clientObjects,
  clientPlace,
  hostOf,
  istio,
  podAddress,
  service,
  serviceAddress,
  slice,
  times,
} from "../objects.js";

const proxy = clientPlace;
const web = hostOf("web");
const route = { route: [{ destination: { host: web, port: { number: 80 } } }] };
const webObjects: readonly KubernetesObject[] = [
  ...clientObjects,
  service("web", serviceAddress(0)),
  slice("web", "web", [podAddress(0)]),
];
const outsideHost = (index: number): string => `h${index}.example.org`;
const port = (number: number, protocol: string): object => ({ number, name: protocol.toLowerCase(), protocol });

/** Returns the domains of virtual hosts that are hosts outside the cluster, without ports. */
const outsideDomains = (config: HeldConfig): string[] =>
  config.routes
    .filter(({ name }) => name === "80")
    .flatMap(({ virtualHosts }) => virtualHosts)
    .flatMap(({ domains }) => domains)
    .filter((domain) => /^h\w+\.example\.org$/.test(domain));

const virtualServiceHosts: Dimension = {
  name: "virtual-service-hosts",
  counts: "hosts of a VirtualService",
  sizes: [1, 10, 100, 1000],
  smallSizes: [1, 30],
  mesh(size) {
    const rule = (hosts: readonly string[]): KubernetesObject =>
      istio("VirtualService", "many", { hosts, http: [route] });
    const hosts = times(size, outsideHost);
    const after = [...hosts.slice(1), "hx.example.org"];
    return {
      objects: [...webObjects, rule(hosts)],
      proxy,
      change: rule(after),
      read: outsideDomains,
      expected: hosts,
      expectedAfterChange: after,
    };
  },
};

const serviceEntryHosts: Dimension = {
  name: "service-entry-hosts",
  counts: "hosts of a ServiceEntry",
  sizes: [1, 10, 100, 256, 1000],
  smallSizes: [1, 30],
  mesh(size) {
    const entry = (hosts: readonly string[]): KubernetesObject =>
      istio("ServiceEntry", "many", {
        hosts,
        ports: [port(80, "HTTP")],
        resolution: "STATIC",
        endpoints: [{ address: podAddress(1) }],
      });
    const hosts = times(size, outsideHost);
    const after = [...hosts.slice(1), "hx.example.org"];
    return {
      objects: [...clientObjects, entry(hosts)],
      proxy,
      change: entry(after),
      read: outsideDomains,
      expected: hosts,
      expectedAfterChange: after,
    };
  },
};

const routes: Dimension = {
  name: "routes",
  counts: "HTTP routes of a host",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 200],
  mesh(size) {
    const name = (index: number): string => `route-${index}`;
    const rule = (names: readonly string[]): KubernetesObject =>
      istio("VirtualService", "many", {
        hosts: [web],
        http: names.map((each) => ({ name: each, match: [{ uri: { prefix: `/${each}/` } }], ...route })),
      });
    const names = times(size, name);
    const after = [...names.slice(1), "route-x"];
    return {
      objects: [...webObjects, rule(names)],
      proxy,
      change: rule(after),
      read: (config) =>
        config.routes
          .filter((each) => each.name === "80")
          .flatMap(({ virtualHosts }) => virtualHosts)
          .flatMap((host) => host.routes.map((each) => each.name))
          .filter((each) => each.startsWith("route-")),
      expected: names,
      expectedAfterChange: after,
    };
  },
};

const subsets: Dimension = {
  name: "subsets",
  counts: "subsets of a host",
  sizes: [1, 10, 100, 1000],
  smallSizes: [1, 30],
  mesh(size) {
    const rule = (names: readonly string[]): KubernetesObject =>
      istio("DestinationRule", "many", {
        host: web,
        subsets: names.map((name) => ({ name, labels: { version: name } })),
      });
    const names = times(size, (index) => `v${index}`);
    const after = [...names.slice(1), "vx"];
    const clusters = (of: readonly string[]): string[] => of.map((name) => `outbound|80|${name}|${web}`);
    return {
      objects: [...webObjects, rule(names)],
      proxy,
      change: rule(after),
      read: (config) => config.clusters.map(({ name }) => name).filter((name) => name.startsWith("outbound|80|v")),
      expected: clusters(names),
      expectedAfterChange: clusters(after),
    };
  },
};

const san = (index: number | string): string => `spiffe://cluster.local/ns/vendor/sa/worker-${index}`;

/** Returns the exact subject names that the TLS context of the outside service's cluster, or of its matches, takes. */
function subjectNames(config: HeldConfig): string[] {
  const cluster = config.clusters.find(({ name }) => name === "outbound|80||h0.example.org");
  const sockets = [
    cluster?.transportSocket,
    ...(cluster?.transportSocketMatches ?? []).map((match) => match.transportSocket),
  ];
  const contexts = config.filters(
    UpstreamTlsContextSchema,
    sockets.map((socket) => (socket?.configType.case === "typedConfig" ? socket.configType.value : undefined)),
  );
  return contexts.flatMap(({ commonTlsContext }) => {
    const type = commonTlsContext?.validationContextType;
    const context =
      type?.case === "combinedValidationContext"
        ? type.value.defaultValidationContext
        : type?.case === "validationContext"
          ? type.value
          : undefined;
    return [
      ...(context?.matchSubjectAltNames ?? []),
      ...(context?.matchTypedSubjectAltNames ?? []).flatMap(({ matcher }) => matcher ?? []),
    ].map(({ matchPattern }) => String(matchPattern.value));
  });
}

/** A mesh with a service outside of it, and subject names in its entry or its rule. */
function namedSubjects(size: number, where: "entry" | "rule"): ScaleMesh {
  const names = times(size, san);
  const after = [...names.slice(1), san("x")];
  const entry = (subjectAltNames: readonly string[]): KubernetesObject =>
    istio("ServiceEntry", "outside", {
      hosts: ["h0.example.org"],
      ports: [port(80, "HTTP")],
      resolution: "STATIC",
      endpoints: [{ address: podAddress(1) }],
      ...(subjectAltNames.length > 0 && { subjectAltNames }),
    });
  const rule = (subjectAltNames: readonly string[]): KubernetesObject =>
    istio("DestinationRule", "outside", {
      host: "h0.example.org",
      trafficPolicy: {
        tls:
          where === "entry" ? { mode: "ISTIO_MUTUAL" } : { mode: "SIMPLE", caCertificates: "system", subjectAltNames },
      },
    });
  return {
    objects: [...clientObjects, entry(where === "entry" ? names : []), rule(names)],
    proxy,
    change: where === "entry" ? entry(after) : rule(after),
    read: subjectNames,
    expected: names,
    expectedAfterChange: after,
  };
}

const ruleSubjects: Dimension = {
  name: "rule-subjects",
  counts: "subjectAltNames of a DestinationRule",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 200],
  mesh: (size) => namedSubjects(size, "rule"),
};

const entrySubjects: Dimension = {
  name: "entry-subjects",
  counts: "subjectAltNames of a ServiceEntry",
  sizes: [10, 100, 1000, 10_000],
  smallSizes: [10, 200],
  mesh: (size) => namedSubjects(size, "entry"),
};

const virtualServices: Dimension = {
  name: "virtual-services",
  counts: "VirtualServices of sidecars, for a host each",
  sizes: [10, 100, 1000, 5000],
  smallSizes: [10, 100],
  fromCluster: 1000,
  mesh(size) {
    const rule = (index: number, host: string): KubernetesObject =>
      istio("VirtualService", `vs-${index}`, { hosts: [host], http: [route] });
    const hosts = times(size, outsideHost);
    return {
      objects: [...webObjects, ...hosts.map((host, index) => rule(index, host))],
      proxy,
      change: rule(0, "hx.example.org"),
      read: outsideDomains,
      expected: hosts,
      expectedAfterChange: [...hosts.slice(1), "hx.example.org"],
    };
  },
};

const sameHost: Dimension = {
  name: "entries-of-a-host",
  counts: "ServiceEntries with the same host",
  sizes: [10, 100, 1000, 5000],
  smallSizes: [10, 100],
  mesh(size) {
    const entry = (index: number, address: string): KubernetesObject =>
      istio("ServiceEntry", `same-${index}`, {
        hosts: ["h0.example.org"],
        ports: [port(80, "HTTP")],
        resolution: "STATIC",
        endpoints: [{ address }],
      });
    const addresses = times(size, (index) => `${podAddress(index)}:80`);
    return {
      objects: [...clientObjects, ...times(size, (index) => entry(index, podAddress(index)))],
      proxy,
      change: entry(0, podAddress(2_000_000)),
      read: (config) => config.endpoints("outbound|80||h0.example.org"),
      expected: addresses,
      expectedAfterChange: [...addresses.slice(1), `${podAddress(2_000_000)}:80`],
    };
  },
};

const tcpServices: Dimension = {
  name: "tcp-services",
  counts: "TCP services with an address each, on one port",
  sizes: [10, 100, 1000, 5000],
  smallSizes: [10, 100],
  mesh(size) {
    const entry = (index: number, address: string): KubernetesObject =>
      istio("ServiceEntry", `tcp-${index}`, {
        hosts: [outsideHost(index)],
        addresses: [address],
        ports: [port(9000, "TCP")],
        resolution: "STATIC",
        endpoints: [{ address: podAddress(index) }],
      });
    const listeners = times(size, (index) => `${serviceAddress(index)}_9000`);
    return {
      objects: [...clientObjects, ...times(size, (index) => entry(index, serviceAddress(index)))],
      proxy,
      change: entry(0, serviceAddress(800_000)),
      read: (config) => config.listeners.map(({ name }) => name).filter((name) => name.endsWith("_9000")),
      expected: listeners,
      expectedAfterChange: [...listeners.slice(1), `${serviceAddress(800_000)}_9000`],
    };
  },
};

const tlsServices: Dimension = {
  name: "tls-services",
  counts: "TLS services without addresses: filter chains of one listener",
  sizes: [10, 100, 1000, 5000],
  smallSizes: [10, 100],
  mesh(size) {
    const entry = (index: number, host: string): KubernetesObject =>
      istio("ServiceEntry", `tls-${index}`, {
        hosts: [host],
        ports: [port(443, "TLS")],
        resolution: "DNS",
      });
    const hosts = times(size, outsideHost);
    return {
      objects: [...clientObjects, ...hosts.map((host, index) => entry(index, host))],
      proxy,
      change: entry(0, "hx.example.org"),
      read: (config) =>
        config.listeners
          .filter(({ name }) => name === "0.0.0.0_443")
          .flatMap(({ filterChains }) => filterChains)
          .flatMap(({ filterChainMatch }) => filterChainMatch?.serverNames ?? []),
      expected: hosts,
      expectedAfterChange: [...hosts.slice(1), "hx.example.org"],
    };
  },
};

export const routingDimensions: readonly Dimension[] = [
  virtualServiceHosts,
  serviceEntryHosts,
  routes,
  subsets,
  ruleSubjects,
  entrySubjects,
  virtualServices,
  sameHost,
  tcpServices,
  tlsServices,
];
