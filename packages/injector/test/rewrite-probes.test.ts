import { InjectorError, type Pod, rewriteProbes } from "@istiod/injector";
import { describe, expect, it } from "vitest";

describe("rewriteProbes", () => {
  const pod: Pod = {
    metadata: { namespace: "shop", name: "cart" },
    spec: {
      containers: [
        {
          name: "app",
          ports: [{ name: "http", containerPort: 8080 }],
          readinessProbe: { httpGet: { port: "http", path: "/ready", scheme: "HTTPS" }, timeoutSeconds: 3 },
          livenessProbe: { tcpSocket: { port: 9000 } },
          startupProbe: { grpc: { port: 7000, service: "cart" } },
          lifecycle: { preStop: { httpGet: { port: 8080, path: "/bye" } } },
        },
        { name: "istio-proxy", readinessProbe: { httpGet: { port: 15021, path: "/healthz/ready" } } },
      ],
    },
  };

  it("points probes at the agent and returns the original probes", () => {
    const { pod: after, probers } = rewriteProbes(pod, 15020);
    expect(probers).toEqual({
      "/app-health/app/readyz": { httpGet: { port: 8080, path: "/ready", scheme: "HTTPS" }, timeoutSeconds: 3 },
      "/app-health/app/livez": { tcpSocket: { port: 9000 } },
      "/app-health/app/startupz": { grpc: { port: 7000, service: "cart" } },
      "/app-lifecycle/app/prestopz": { httpGet: { port: 8080, path: "/bye" } },
    });
    expect(after.spec?.containers).toEqual([
      {
        name: "app",
        ports: [{ name: "http", containerPort: 8080 }],
        readinessProbe: { httpGet: { port: 15020, path: "/app-health/app/readyz", scheme: "HTTP" }, timeoutSeconds: 3 },
        livenessProbe: { httpGet: { port: 15020, path: "/app-health/app/livez" } },
        startupProbe: { httpGet: { port: 15020, path: "/app-health/app/startupz" } },
        lifecycle: { preStop: { httpGet: { port: 15020, path: "/app-lifecycle/app/prestopz" } } },
      },
      pod.spec?.containers?.[1],
    ]);
  });

  it("does not return probes of a pod that was injected before", () => {
    const once = rewriteProbes(pod, 15020);
    const twice = rewriteProbes(once.pod, 15020);
    expect(twice.probers).toEqual({});
    expect(twice.pod).toEqual(once.pod);
  });

  it("keeps probes that run a command in the container", () => {
    const own: Pod = {
      spec: { containers: [{ name: "app", livenessProbe: { exec: { command: ["true"] } } as never }] },
    };
    expect(rewriteProbes(own, 15020)).toEqual({ pod: own, probers: {} });
  });

  it("returns no probe for an unknown port name", () => {
    const own: Pod = { spec: { containers: [{ name: "app", livenessProbe: { httpGet: { port: "web" } } }] } };
    expect(rewriteProbes(own, 15020).probers).toEqual({});
  });

  it("uses the status port of the pod's annotation and rejects an invalid one", () => {
    const annotated = (port: string): Pod => ({
      ...pod,
      metadata: { ...pod.metadata, annotations: { "status.sidecar.istio.io/port": port } },
    });
    expect(rewriteProbes(annotated("16020"), 15020).pod.spec?.containers?.[0]?.livenessProbe?.httpGet?.port).toBe(
      16020,
    );
    expect(() => rewriteProbes(annotated("x"), 15020)).toThrow(
      new InjectorError("annotation", 'Pod shop/cart: annotation status.sidecar.istio.io/port is "x", expected a port'),
    );
  });
});
