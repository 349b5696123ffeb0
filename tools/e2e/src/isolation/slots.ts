import { createServer, type Server } from "node:net";

/** The state of one port of the shared gateway, of which a tenant changes the objects. */
export type SlotState =
  | { readonly kind: "absent" }
  /** A server with a route that Envoys accept. */
  | { readonly kind: "good"; readonly value: number }
  /** A server with a route that the gateway's Envoy rejects: its pattern is larger than the Envoy's limit. */
  | { readonly kind: "rejected"; readonly value: number };

/** Ports of the gateway that belong to the tenant. */
export const slotPorts = [8301, 8302, 8303, 8304] as const;

/** Instructions that the program of a pattern may have at the gateway's Envoy. Istio's configuration needs fewer. */
export const patternLimit = 300;

/** Matches nothing of the experiment, and compiles to more than {@link patternLimit} instructions. */
const largePattern = "/unused/(abcdefgh[0-9]){40}";

/** A port of the gateway with the tenant's objects, and the configuration that the gateway must have for it. */
export class Slot {
  readonly port: number;
  readonly #address: string;
  state: SlotState = { kind: "absent" };
  /** The values that the gateway may have accepted last; undefined stands for none. One of them since the last rest. */
  readonly candidates = new Set<number | undefined>([undefined]);
  #holder: Server | undefined;

  constructor(address: string, port: number) {
    this.#address = address;
    this.port = port;
  }

  /** Reports whether another program has the port, so that the gateway cannot listen on it. */
  get isHeld(): boolean {
    return this.#holder !== undefined;
  }

  /** Takes the port, if nothing listens on it. Reports whether it was free. */
  async hold(): Promise<boolean> {
    const server = createServer((socket) => void socket.on("error", () => undefined).destroy());
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(this.port, this.#address, () => resolve(true));
    });
    if (!isFree) return false;
    this.#holder = server;
    this.#forget();
    return true;
  }

  async release(): Promise<void> {
    const holder = this.#holder;
    if (holder === undefined) return;
    this.#holder = undefined;
    this.#note();
    await new Promise<void>((resolve) => holder.close(() => resolve()));
  }

  /** Sets the state of the tenant's objects. */
  set(state: SlotState): void {
    this.state = state;
    if (!this.isHeld) this.#note();
  }

  /**
   * Records that the gateway has everything that it can accept.
   *
   * @param value the candidate that it has
   */
  settled(value: number | undefined): void {
    if (this.isHeld) return;
    this.candidates.clear();
    this.candidates.add(value);
  }

  #note(): void {
    if (this.state.kind === "absent") this.candidates.add(undefined);
    else if (this.state.kind === "good") this.candidates.add(this.state.value);
  }

  #forget(): void {
    this.candidates.clear();
    this.candidates.add(undefined);
  }

  /** Returns the tenant's objects of this port, YAML. @param state default: the current state */
  objects(state: SlotState = this.state): string {
    if (state.kind === "absent") return "";
    const match =
      state.kind === "rejected"
        ? `- match: [{uri: {regex: "${largePattern}"}}]\n    directResponse: {status: 500}\n  `
        : "";
    return `---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: slot-${this.port}, namespace: tenant}
spec:
  selector: {app: ingress}
  servers:
  - port: {number: ${this.port}, protocol: HTTP, name: http}
    bind: "${this.#address}"
    hosts: [tenant.example]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: slot-${this.port}, namespace: tenant}
spec:
  hosts: [tenant.example]
  gateways: [slot-${this.port}]
  http:
  ${match}- headers: {response: {set: {x-version: "${state.value}"}}}
    route: [{destination: {host: web.shop.svc.cluster.local, port: {number: 8000}}}]
`;
  }
}
