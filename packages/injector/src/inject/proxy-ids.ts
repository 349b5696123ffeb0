import type { JsonObject } from "../go-types/json.js";
import { annotationsOf } from "../pod-fields.js";

const rangeAnnotation = "openshift.io/sa.scc.uid-range";
const groupsAnnotation = "openshift.io/sa.scc.supplemental-groups";
const defaultId = 1337;

/** User and group of the proxy. */
export interface ProxyIds {
  readonly uid: number;
  readonly gid: number;
}

/** Returns the proxy's user and group: the last of the ranges that OpenShift gives a namespace, or 1337. */
export function proxyIds(namespace: JsonObject | undefined): ProxyIds {
  const annotations = namespace === undefined ? {} : annotationsOf(namespace);
  const range = annotations[rangeAnnotation];
  const groups = (annotations[groupsAnnotation] ?? range ?? "").split(",").map(lastOfBlock);
  const [first] = groups;
  return {
    uid: lastOfBlock(range ?? "") ?? defaultId,
    gid: groups.includes(undefined) ? defaultId : (first ?? defaultId),
  };
}

/** Returns the end of a block, `start/size` or `start-end`; undefined for any other text. */
function lastOfBlock(text: string): number | undefined {
  const match = /^(\d+)([/-])(\d+)/.exec(text);
  if (match === null) return undefined;
  const [, start, separator, end] = match;
  const last = separator === "/" ? Number(start) + Number(end) - 1 : Number(end);
  return Number(start) < 2 ** 32 && Number(end) < 2 ** 32 ? last >>> 0 : undefined;
}
