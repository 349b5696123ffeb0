import { decideInjection, rewriteProbes, type Pod } from "@istiod/injector";

const pod: Pod = {
  metadata: { name: "cart-1", labels: { app: "cart" } },
  spec: {
    containers: [
      { name: "app", readinessProbe: { httpGet: { path: "/healthz", port: 8080 } } },
      { name: "cache", livenessProbe: { tcpSocket: { port: 6379 } } },
    ],
  },
};

for (const namespace of ["kube-system", "shop"]) {
  const { inject, reason } = decideInjection(pod, namespace, { policy: "enabled" });
  console.log(`${namespace}: ${inject ? "injected" : "not injected"} (${reason})`);
}

// The kubelet cannot probe through mutual TLS: it asks the agent on port 15020, which asks the application.
const { pod: injected, probers } = rewriteProbes(pod, 15020);
for (const { name, readinessProbe, livenessProbe } of injected.spec?.containers ?? [])
  console.log(`${name}: kubelet requests ${JSON.stringify((readinessProbe ?? livenessProbe)?.httpGet)}`);
console.log(`ISTIO_KUBE_APP_PROBERS=${JSON.stringify(probers)}`);
