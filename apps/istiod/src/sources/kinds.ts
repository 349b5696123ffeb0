import {
  analysisKinds,
  directorySecretKind,
  type Kind,
  multiClusterGroup,
  multiClusterKinds,
  secretKind,
} from "@istiod/config-schema";
import type { Environment } from "@istiod/settings";
import { variables } from "../variables.js";

/** Returns kinds with those of multi-cluster services in the group and version that the variables name. */
export function withMultiClusterKinds(kinds: readonly Kind[], env: Environment): readonly Kind[] {
  const version = variables.mcsApiVersion.read(env) || undefined;
  const multiCluster = multiClusterKinds(variables.mcsApiGroup.read(env), version);
  return [...kinds.filter(({ group }) => group !== multiClusterGroup), ...multiCluster];
}

/** Returns the kinds to read from a directory: the given ones, with its Secrets marked, and those of analysis. */
export function kindsOfDirectory(kinds: readonly Kind[], env: Environment): readonly Kind[] {
  const marked = kinds.map((kind): Kind => (kind === secretKind ? directorySecretKind : kind));
  return [...withMultiClusterKinds(marked, env), ...analysisKinds];
}
