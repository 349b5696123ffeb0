import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { Environment } from "@istiod/settings";
import { variables } from "../variables.js";

/** Distinguishes processes without a name, which would otherwise take each other for themselves. */
const suffix = randomBytes(4).toString("hex");

/** Returns the name of this istiod among its replicas: that of its pod. */
export function instanceIdentity(env: Environment): string {
  return variables.podName.read(env) || `unknown-${hostname()}-${suffix}`;
}
