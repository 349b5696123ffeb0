import { readFileSync } from "node:fs";
import { type AuthorityKind, authorityKinds, type KeyType, keyTypes } from "./authorities.js";
import { inTurn } from "./issuance.js";
import type { ArrivalOrder, IssuanceOrder } from "./messages.js";
import { CertificateRig, type Measured } from "./rig.js";

const smallMesh = { services: 50, namespaces: 10, endpoints: 3, proxies: 148, gatewayRoutes: 0, scoped: 1, seed: 1 };

export interface IssuanceOptions {
  /** Certificates of each row. */
  readonly count: number;
  readonly parallel: number;
  /** Certificates before the measurement, so that code is compiled. */
  readonly warmUp: number;
}

/** Certificates from one kind of CA. */
export interface IssuanceRow {
  readonly authority: AuthorityKind;
  readonly key: KeyType;
  readonly connections: IssuanceOrder["connections"];
  readonly measured: Measured;
}

/** Few connections, such as those of proxies between agents and istiod. */
const fewConnections = 4;

/** Requests certificates from each kind of CA with each type of keys, and calls `onRow` with each result. */
export async function measureIssuance(options: IssuanceOptions, onRow: (row: IssuanceRow) => void): Promise<void> {
  const { count, parallel, warmUp } = options;
  for (const authority of authorityKinds)
    for (const key of keyTypes) {
      const rig = await CertificateRig.start({ mesh: smallMesh, authority, key });
      try {
        for (const connections of ["each", fewConnections] as const) {
          const { requests } = rig;
          const tokens = rig.agents.map(({ token }) => token);
          const order = { kind: "issuance", target: rig.istiod.xds, parallel, connections, requests, tokens } as const;
          await rig.measure({ ...order, count: warmUp });
          onRow({ authority, key, connections, measured: await rig.measure({ ...order, count }) });
        }
      } finally {
        await rig.close();
      }
    }
}

/** Agents that arrive at once. */
export interface ArrivalRow {
  /** Certificates and streams over TLS, or streams in plaintext alone. */
  readonly transport: "TLS" | "plaintext";
  readonly measured: Measured;
}

/** Has agents arrive at a new istiod, first in plaintext and then over TLS with certificates. */
export async function measureArrivals(agents: number, onRow: (row: ArrivalRow) => void): Promise<void> {
  for (const transport of ["plaintext", "TLS"] as const) {
    const rig = await CertificateRig.start({ mesh: smallMesh, authority: "self-signed", key: "RSA 2048" });
    try {
      const order: ArrivalOrder = {
        kind: "arrival",
        target: transport === "TLS" ? rig.istiod.xds : rig.istiod.plaintext,
        agents: Array.from({ length: agents }, (_, at) => inTurn(rig.agents, at)),
        requests: transport === "TLS" ? rig.requests : [],
        maxConnections: maxConnections(),
      };
      onRow({ transport, measured: await rig.measure(order) });
    } finally {
      await rig.close();
    }
  }
}

/** Returns four fifths of the files that a process may open: the others are for its libraries and files. */
function maxConnections(): number {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return Math.floor(Number(soft ?? 1024) * 0.8);
}
