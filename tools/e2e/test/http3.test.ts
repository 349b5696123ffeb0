import { type BareEnvoy, startBareEnvoy, whyNoEnvoy } from "@istiod/e2e";
import { commitYaml } from "@istiod/config-schema/testing";
import { applyMeshConfig, environment, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { findEnvoy } from "@istiod/envoy-binary";
import { Database, type View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const reason = await whyNoEnvoy();
const listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener";

const objects = `
apiVersion: v1
kind: Service
metadata: {name: door, namespace: edge}
spec:
  clusterIP: 10.96.0.9
  selector: {app: door}
  ports:
  - {name: https, port: 443, targetPort: 18443, protocol: TCP}
  - {name: quic, port: 443, targetPort: 18443, protocol: UDP}
---
apiVersion: v1
kind: Pod
metadata: {name: door, namespace: edge, labels: {app: door}}
spec: {containers: [{name: proxy}]}
status: {phase: Running, podIP: 10.9.0.1, podIPs: [{ip: 10.9.0.1}]}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: front, namespace: edge}
spec:
  selector: {app: door}
  servers:
  - port: {number: 443, name: https-a, protocol: HTTPS}
    bind: 127.63.0.1
    hosts: [a.example.com]
    tls: {mode: SIMPLE, credentialName: a}
  - port: {number: 443, name: https-b, protocol: HTTPS}
    bind: 127.63.0.1
    hosts: [b.example.com]
    tls: {mode: MUTUAL, credentialName: b, minProtocolVersion: TLSV1_2}
`;

function gatewayProxy(extensions: readonly string[]): View<Proxy> {
  const db = new Database<Proxy>();
  const mesh = applyMeshConfig({}, { warning: () => undefined, error: (_, message) => expect.unreachable(message) });
  db.commit((tx) => {
    if (mesh) tx.set(meshConfig, meshConfigKey, mesh);
    tx.set(environment, "PILOT_ENABLE_QUIC_LISTENERS", "true");
  });
  commitYaml(db, objects);
  const metadata = {
    NAMESPACE: "edge",
    LABELS: { app: "door" },
    CLUSTER_ID: "Kubernetes",
    ISTIO_VERSION: "1.29.0",
    INSTANCE_IPS: "10.9.0.1",
  };
  return db.view(
    proxyFromNode({ id: "router~10.9.0.1~door.edge~edge.svc.cluster.local", metadata, extensions: [...extensions] }),
  );
}

describe("HTTP/3 at a stock Envoy", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let envoy: BareEnvoy;
  let listeners: readonly Resource[] = [];
  beforeAll(async () => {
    if (reason) return;
    envoy = await startBareEnvoy((await findEnvoy())!);
    listeners = [...gatewayProxy(envoy.extensions).call(generators[listenerType]!)];
  }, 120_000);
  afterAll(() => envoy?.close());

  it("listens on UDP beside TCP, and Envoy takes both", async () => {
    expect(listeners.map(({ name }) => name)).toEqual(["127.63.0.1_18443", "udp_127.63.0.1_18443"]);
    expect(await envoy.offer(listenerType, listeners)).toEqual([]);
  }, 60_000);
});
