import { InjectorError, type Pod, takeOverProbes } from "@istiod/injector";
import { describe, expect, it } from "vitest";

describe("probes taken over by the agent", () => {
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

  it("become HTTP requests to the agent, which is told what they were", () => {
    const { pod: after, probers } = takeOverProbes(pod, 15020);
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

  it("of a pod that was injected before are not handed over again", () => {
    const once = takeOverProbes(pod, 15020);
    const twice = takeOverProbes(once.pod, 15020);
    expect(twice.probers).toEqual({});
    expect(twice.pod).toEqual(once.pod);
  });

  it("that run a command in the container stay as they are", () => {
    const own: Pod = {
      spec: { containers: [{ name: "app", livenessProbe: { exec: { command: ["true"] } } as never }] },
    };
    expect(takeOverProbes(own, 15020)).toEqual({ pod: own, probers: {} });
  });

  it("name a port that the container does not have: the agent has nothing to ask", () => {
    const own: Pod = { spec: { containers: [{ name: "app", livenessProbe: { httpGet: { port: "web" } } }] } };
    expect(takeOverProbes(own, 15020).probers).toEqual({});
  });

  it("go to the port that the pod's annotation names, which must be one", () => {
    const annotated = (port: string): Pod => ({
      ...pod,
      metadata: { ...pod.metadata, annotations: { "status.sidecar.istio.io/port": port } },
    });
    expect(takeOverProbes(annotated("16020"), 15020).pod.spec?.containers?.[0]?.livenessProbe?.httpGet?.port).toBe(
      16020,
    );
    expect(() => takeOverProbes(annotated("x"), 15020)).toThrow(
      new InjectorError("annotation", 'Pod shop/cart: annotation status.sidecar.istio.io/port is "x", expected a port'),
    );
  });
});
