import { describe, expect, it } from "vitest";
import {
  clientPeerModes,
  inboundMutualTlsMode,
  modeOfPort,
  namespaceMutualTlsMode,
  workloadPeerModes,
} from "../src/authentication/peer.js";
import { TestMesh } from "./mesh.js";

interface PeerSpec {
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly mtls?: { readonly mode: string };
  readonly portLevelMtls?: Readonly<Record<number, { readonly mode: string }>>;
}

function peer(name: string, namespace: string, spec: PeerSpec, created = 1): string {
  const day = String(created).padStart(2, "0");
  return `---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: ${name}, namespace: ${namespace}, creationTimestamp: "2024-01-${day}T00:00:00Z"}
spec: ${JSON.stringify(spec)}
`;
}

const selector = { matchLabels: { app: "web" } };
const web = { namespace: "shop", labels: { app: "web", version: "v1" } };

describe("the mutual TLS of a workload", () => {
  it("is PERMISSIVE without policies", () => {
    expect(new TestMesh().client().ask(workloadPeerModes, web)).toEqual({ mode: "PERMISSIVE", ports: {} });
  });

  it("is that of the most specific policy: the workload's, the namespace's or the mesh's", () => {
    const mesh = new TestMesh(peer("default", "istio-system", { mtls: { mode: "STRICT" } }));
    const mode = (): string => mesh.client().ask(workloadPeerModes, web).mode;
    expect(mode()).toBe("STRICT");
    mesh.apply(peer("ns", "shop", { mtls: { mode: "DISABLE" } }));
    expect(mode()).toBe("DISABLE");
    mesh.apply(peer("own", "shop", { selector, mtls: { mode: "PERMISSIVE" } }));
    expect(mode()).toBe("PERMISSIVE");
    mesh.apply(peer("own", "shop", { selector, mtls: { mode: "UNSET" } }));
    expect(mode()).toBe("DISABLE");
    mesh.apply(peer("ns", "shop", {}));
    expect(mode()).toBe("STRICT");
  });

  it("is that of the oldest policy of a scope", () => {
    const mesh = new TestMesh(
      peer("a", "shop", { selector, mtls: { mode: "DISABLE" } }, 5) +
        peer("b", "shop", { selector, mtls: { mode: "STRICT" } }, 2) +
        peer("c", "shop", { mtls: { mode: "DISABLE" } }, 1),
    );
    expect(mesh.client().ask(workloadPeerModes, web).mode).toBe("STRICT");
    expect(mesh.client().ask(workloadPeerModes, { ...web, labels: {} }).mode).toBe("DISABLE");
  });

  it("can differ by port, inherited from the workload if a port sets none", () => {
    const spec = {
      selector,
      mtls: { mode: "STRICT" },
      portLevelMtls: { 8080: { mode: "DISABLE" }, 9090: { mode: "UNSET" } },
    };
    const modes = new TestMesh(peer("own", "shop", spec)).client().ask(workloadPeerModes, web);
    expect([8080, 9090, 7070].map((port) => modeOfPort(modes, port))).toEqual(["DISABLE", "STRICT", "STRICT"]);
  });

  it("is not set by policies of the root namespace that select workloads", () => {
    const mesh = new TestMesh(peer("some", "istio-system", { selector, mtls: { mode: "STRICT" } }));
    expect(mesh.client().ask(workloadPeerModes, web).mode).toBe("PERMISSIVE");
    expect(mesh.client().ask(workloadPeerModes, { ...web, namespace: "istio-system" }).mode).toBe("PERMISSIVE");
  });

  it("is found for the client by its namespace and labels", () => {
    const mesh = new TestMesh(
      peer("own", "shop", { selector, mtls: { mode: "STRICT" }, portLevelMtls: { 8080: { mode: "DISABLE" } } }),
    );
    expect(mesh.client({ labels: { app: "web" } }).ask(inboundMutualTlsMode, 8080)).toBe("DISABLE");
    expect(mesh.client({ labels: { app: "web" } }).ask(inboundMutualTlsMode, 8081)).toBe("STRICT");
    expect(mesh.client({ labels: { app: "cart" } }).ask(inboundMutualTlsMode, 8081)).toBe("PERMISSIVE");
    expect(mesh.client({ namespace: "other", labels: { app: "web" } }).ask(inboundMutualTlsMode, 8081)).toBe(
      "PERMISSIVE",
    );
  });
});

describe("the mutual TLS mode that clients assume for a namespace", () => {
  it("is UNKNOWN without policies, and ignores policies with a selector", () => {
    const mesh = new TestMesh(peer("own", "shop", { selector, mtls: { mode: "DISABLE" } }));
    expect(mesh.client().ask(namespaceMutualTlsMode, "shop")).toBe("UNKNOWN");
  });

  it("is PERMISSIVE if a policy sets no mode and there is no wider policy", () => {
    expect(new TestMesh(peer("ns", "shop", {})).client().ask(namespaceMutualTlsMode, "shop")).toBe("PERMISSIVE");
    expect(new TestMesh(peer("ns", "istio-system", {})).client().ask(namespaceMutualTlsMode, "shop")).toBe(
      "PERMISSIVE",
    );
  });
});

describe("clients that no PeerAuthentication distinguishes", () => {
  it("share their modes", () => {
    const mesh = new TestMesh(peer("own", "shop", { selector, mtls: { mode: "STRICT" } }));
    const modes = [{ namespace: "a" }, { namespace: "b", labels: { app: "web" } }].map((options) =>
      mesh.client(options).ask(clientPeerModes),
    );
    expect(modes[0]).toBe(modes[1]);
  });
});
