import type { ProxyStatus, StatusModel, TypeStatus } from "@istiod/status-page";

export const now = Date.parse("2027-03-01T12:00:00Z");
const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

/** A control plane that has just started, without anything. */
export const emptyModel: StatusModel = {
  at: now,
  instance: {
    name: "istiod-1",
    version: "0.1.0",
    revision: "default",
    cluster: "Kubernetes",
    namespace: "istio-system",
    startedAt: now - 5 * second,
    configRevision: 1,
    waitingFor: [],
  },
  sources: [{ name: "Cluster Kubernetes", location: "mesh", state: "current", reasons: [] }],
  proxies: [],
  changes: [],
  problems: [],
  certificates: [],
  objects: [],
  pages: [{ href: "./debug", label: "All debug pages", about: "with those of one proxy" }],
  documentation: [],
};

export const synced = (type: string): TypeStatus => ({ type, state: "synced", sentAt: now - minute });
export const allSynced: readonly TypeStatus[] = ["CDS", "LDS", "EDS", "RDS"].map(synced);

export function proxy(name: string, more: Partial<ProxyStatus> = {}): ProxyStatus {
  const href = `./debug/config_dump?proxyID=${name}`;
  return {
    id: `${name}-1`,
    name,
    kind: "sidecar",
    version: "1.27.0",
    connectedAt: now - 3 * hour,
    pushPending: false,
    types: allSynced,
    href,
    ...more,
  };
}

/** With another state of one type. */
export function withType(changed: TypeStatus): readonly TypeStatus[] {
  return [...allSynced.filter(({ type }) => type !== changed.type), changed];
}

export const rejectedListener: TypeStatus = {
  type: "LDS",
  state: "rejected",
  sentAt: now - 2 * minute,
  rejection: {
    reason:
      "Error adding/updating listener(s) 0.0.0.0_8443: Failed to load certificate chain from <inline>: PEM_read_bio",
    resources: ["0.0.0.0_8443"],
    causes: ["Gateway/edge/public"],
    at: now - 2 * minute,
  },
};

/** One of each kind of trouble. */
export const troubledModel: StatusModel = {
  ...emptyModel,
  instance: { ...emptyModel.instance, startedAt: now - 3 * day - 4 * hour, configRevision: 214 },
  sources: [
    { name: "Mesh configuration", location: "etc/mesh.yaml", state: "current", reasons: [] },
    { name: "Cluster Kubernetes", location: "mesh", state: "reading", reasons: [] },
    {
      name: "Cluster east",
      location: "clusters/east",
      state: "stale",
      reasons: ["clusters/east/shop.yaml: cannot be read: permission denied (EACCES)"],
    },
  ],
  proxies: [
    proxy("cart-7d9f.shop"),
    proxy("gateway-5c4b.edge", { kind: "router", types: withType(rejectedListener) }),
    proxy("gateway-9a1e.edge", { kind: "router", types: withType(rejectedListener) }),
    proxy("till-5f6c.shop", {
      version: "1.26.2",
      types: withType({ type: "EDS", state: "stale", sentAt: now - 42 * second }),
    }),
    proxy("web-1b2c.shop", { pushPending: true }),
    proxy("batch-0.jobs", { types: [synced("CDS"), synced("LDS"), synced("NDS")] }),
  ],
  changes: [
    {
      revision: 214,
      at: now - 42 * second,
      objects: ["EndpointSlice/shop/till-1"],
      objectCount: 1,
      proxies: 4,
      proxiesAcknowledged: 3,
      rejections: 0,
      pending: 1,
      lastAckMs: 31,
      href: "./debug/changes?revision=214",
    },
    {
      revision: 213,
      at: now - 2 * minute,
      objects: ["Gateway/edge/public"],
      objectCount: 1,
      proxies: 2,
      proxiesAcknowledged: 0,
      rejections: 2,
      pending: 0,
      href: "./debug/changes?revision=213",
    },
    {
      revision: 212,
      at: now - hour,
      objects: [
        "VirtualService/shop/cart",
        "DestinationRule/shop/cart",
        "Service/shop/cart",
        "EndpointSlice/shop/cart-1",
      ],
      objectCount: 12,
      proxies: 6,
      proxiesAcknowledged: 6,
      rejections: 0,
      pending: 0,
      lastAckMs: 1830,
    },
    {
      revision: 211,
      at: now - 2 * hour,
      objects: ["ConfigMap/kube-system/leader"],
      objectCount: 1,
      proxies: 0,
      proxiesAcknowledged: 0,
      rejections: 0,
      pending: 0,
    },
  ],
  problems: [
    {
      severity: "warning",
      file: "mesh/rules.yaml",
      line: 40,
      object: "DestinationRule shop/cart",
      field: "spec.trafficPolicy",
      message: "h2UpgradePolicy is deprecated",
    },
    {
      severity: "error",
      file: "mesh/routes.yaml",
      line: 17,
      object: "VirtualService shop/cart",
      field: "spec.http[0].timeout",
      message: 'expected a duration such as "1.5s", not "much"',
    },
  ],
  findings: [
    {
      code: "IST0118",
      level: "Info",
      origin: "Service shop/till",
      reference: "mesh/till.yaml:3",
      message: 'Port name "x" does not follow the naming convention of Istio port',
    },
    {
      code: "IST0101",
      level: "Error",
      origin: "VirtualService shop/web",
      reference: "mesh/web.yaml:12",
      message: 'Referenced host not found: "wep.shop"',
    },
  ],
  certificates: [
    {
      role: "Root",
      subject: "O=cluster.local",
      notBefore: now - 900 * day,
      notAfter: now + 2750 * day,
      renewalDue: now + 2020 * day,
    },
    {
      role: "Serving certificate",
      subject: "DNS:istiod.istio-system.svc",
      notBefore: now - 13 * hour,
      notAfter: now + 11 * hour,
      renewalDue: now - hour,
    },
  ],
  objects: [
    { kind: "Service", group: "", count: 42 },
    { kind: "VirtualService", group: "networking.istio.io", count: 1234 },
    { kind: "WasmPlugin", group: "extensions.istio.io", count: 0 },
  ],
  pages: [
    { href: "./debug", label: "All debug pages", about: "with those of one proxy" },
    { href: "http://127.0.0.1:15014/metrics", label: "Metrics", about: "for Prometheus" },
  ],
  documentation: [
    {
      href: "https://istio.io/latest/docs/reference/config/",
      label: "Configuration reference",
      about: "kinds and their fields",
    },
  ],
};

/** Five hundred proxies that reject the same, and as many problems and changes. */
export const bigModel: StatusModel = {
  ...troubledModel,
  proxies: Array.from({ length: 500 }, (_, i) =>
    proxy(`web-${String(i).padStart(3, "0")}.shop`, i % 2 === 0 ? { types: withType(rejectedListener) } : {}),
  ),
  problems: Array.from(
    { length: 500 },
    (_, i) =>
      ({
        severity: "error",
        file: `mesh/${i}.yaml`,
        line: 1,
        object: `Service shop/s-${i}`,
        field: "",
        message: "expected ports",
      }) as const,
  ),
  changes: Array.from({ length: 256 }, (_, i) => ({
    revision: 300 - i,
    at: now - i * minute,
    objects: ["Service/shop/cart"],
    objectCount: 1,
    proxies: 500,
    proxiesAcknowledged: 500,
    rejections: 0,
    pending: 0,
    lastAckMs: 100,
  })),
  more: { proxies: "./debug/syncz", changes: "./debug/changes" },
};
