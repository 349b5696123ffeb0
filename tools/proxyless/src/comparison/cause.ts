import type { GrpcTypeName } from "@istiod/bench";
import type { Cause } from "@istiod/parity";
import type { MeshObject } from "../random-mesh.js";

/** A difference on purpose (docs/proxyless-grpc.md). */
export type GrpcCause = Cause<GrpcTypeName, CauseContext>;

export interface CauseContext {
  /** The name of the resource. */
  readonly name: string;
  /** The objects that both control planes read. */
  readonly objects: readonly MeshObject[];
}
