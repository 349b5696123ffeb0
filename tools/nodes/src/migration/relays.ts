import type { ApiClient } from "@istiod/kubernetes";
import type { Service } from "../kube/objects.js";
import type { AnyObject, ObjectApplier } from "../sample/apply-objects.js";
import { waitForDeployment } from "../sample/install-bookinfo.js";
import type { Revision } from "./control-planes.js";

/** Namespaces in the order of a request: the gateway's, then one for each service of the chain. */
export const NAMESPACES = ["edge", "first", "second", "third", "fourth"] as const;
export const GATEWAY = NAMESPACES[0];
/** Services that answer a request. */
export const SERVICES = NAMESPACES.length - 1;

/** The host that the gateway routes. */
export const HOST = "relay.test";
const PORT = 8080;
/** Seconds for which a Pod that ends still serves, as long as others may not know yet. */
const DRAIN_SECONDS = 8;

const networking = "networking.istio.io/v1";

/** Installs a gateway and a chain of services in a namespace each, with STRICT mutual TLS. Returns the address. */
export async function installRelays(
  client: ApiClient,
  applier: ObjectApplier,
  revision: Revision,
  timeoutMs: number,
): Promise<string> {
  await applier.apply(NAMESPACES.map((name) => namespaceOf(name, revision)));
  const strict = object("security.istio.io/v1", "PeerAuthentication", "default", "istio-system", {
    spec: { mtls: { mode: "STRICT" } },
  });
  await applier.apply([strict, ...gatewayObjects(), ...NAMESPACES.slice(1).flatMap(serviceObjects)]);
  for (const name of NAMESPACES) await waitForDeployment(client, name, deploymentOf(name), { timeoutMs });
  const path = `/api/v1/namespaces/${GATEWAY}/services/${GATEWAY}`;
  const { spec, status } = await client.json<Service>({ path });
  return status?.loadBalancer?.ingress?.[0]?.ip ?? spec.clusterIP ?? "";
}

/** Returns the name of the Deployment of a namespace. */
export function deploymentOf(namespace: string): string {
  return namespace === GATEWAY ? GATEWAY : "relay";
}

/** Returns a namespace that a control plane injects. */
export function namespaceOf(name: string, revision: Revision): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { "istio.io/rev": revision } },
  } as AnyObject;
}

function gatewayObjects(): readonly AnyObject[] {
  const labels = { app: GATEWAY, istio: GATEWAY, "sidecar.istio.io/inject": "true" };
  const template = {
    metadata: { labels, annotations: { "inject.istio.io/templates": "gateway", ...drain } },
    spec: {
      terminationGracePeriodSeconds: 2 * DRAIN_SECONDS,
      containers: [{ name: "istio-proxy", image: "auto", lifecycle: preStop }],
    },
  };
  const server = { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: [HOST] };
  const route = [{ destination: { host: hostOf(NAMESPACES[1]), port: { number: PORT } } }];
  return [
    object("v1", "Service", GATEWAY, GATEWAY, {
      spec: { type: "LoadBalancer", selector: { app: GATEWAY }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    }),
    object("apps/v1", "Deployment", GATEWAY, GATEWAY, { spec: deploymentSpec(labels.app, template) }),
    object(networking, "Gateway", GATEWAY, GATEWAY, { spec: { selector: { istio: GATEWAY }, servers: [server] } }),
    object(networking, "VirtualService", GATEWAY, GATEWAY, {
      spec: { hosts: [HOST], gateways: [GATEWAY], http: [{ route }] },
    }),
  ];
}

function serviceObjects(namespace: string, index: number, services: readonly string[]): readonly AnyObject[] {
  const next = services[index + 1];
  const template = {
    metadata: { labels: { app: "relay" }, annotations: drain },
    spec: {
      terminationGracePeriodSeconds: 2 * DRAIN_SECONDS,
      containers: [
        {
          name: "relay",
          image: "relay",
          args: next === undefined ? [] : [`http://${hostOf(next)}:${PORT}/`],
          ports: [{ containerPort: PORT }],
          readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 2, timeoutSeconds: 5 },
          lifecycle: preStop,
        },
      ],
    },
  };
  return [
    object("v1", "Service", "relay", namespace, {
      spec: { selector: { app: "relay" }, ports: [{ name: "http", port: PORT }] },
    }),
    object("apps/v1", "Deployment", "relay", namespace, { spec: deploymentSpec("relay", template) }),
  ];
}

/** As a workload that serves without interruption: Pods end once the new ones are ready, and serve until then. */
const preStop = { preStop: { exec: { command: ["sleep", String(DRAIN_SECONDS)] } } };
const drain = {
  "proxy.istio.io/config": JSON.stringify({
    holdApplicationUntilProxyStarts: true,
    terminationDrainDuration: `${DRAIN_SECONDS}s`,
  }),
};

const deploymentSpec = (app: string, template: object): object => ({
  replicas: 1,
  selector: { matchLabels: { app } },
  strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
  template,
});

const hostOf = (namespace: string): string => `relay.${namespace}.svc.cluster.local`;

function object(apiVersion: string, kind: string, name: string, namespace: string, rest: object): AnyObject {
  return { apiVersion, kind, metadata: { name, namespace }, ...rest };
}
