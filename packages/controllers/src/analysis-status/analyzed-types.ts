import { istioKinds } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";
import { pluralOf } from "../controller/plural.js";

/** The types whose status has analysis messages: all of Istio's, each in its newest version. */
export const analyzedTypes: readonly ResourceType[] = istioKinds.flatMap(({ group, kind, versions: [version] }) =>
  version === undefined ? [] : [{ group, version, kind, plural: pluralOf(kind), namespaced: true }],
);
