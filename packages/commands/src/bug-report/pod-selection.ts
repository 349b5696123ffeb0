import type { Pod } from "../cluster/pod-of.js";

/** A Pod with one of its containers. */
export interface PodContainer {
  readonly pod: Pod;
  readonly container: string;
  /** Name of the workload that created the Pod. Empty for none. */
  readonly workload: string;
}

/** Reports whether a container belongs to a selection. */
export type PodMatcher = (candidate: PodContainer) => boolean;

const parts = ["namespaces", "workloads", "Pods", "labels", "annotations", "containers"];

/**
 * Parses a selection in the syntax of `istioctl bug-report`: `namespaces/workloads/Pods/labels/annotations/containers`,
 * each a list with commas. Names and values are patterns with `*` and `?`; a part that is empty or absent matches
 * everything. All labels and all annotations of a selection must match; one without a value matches any value.
 *
 * @throws Error if there are too many parts
 */
export function parsePodSelection(text: string): PodMatcher {
  const given = text.split("/");
  if (given.length > parts.length)
    throw new Error(`${text}: has ${given.length} parts, expected at most ${parts.join("/")}`);
  const [namespaces, workloads, pods, labels, annotations, containers] = parts.map((_, i) => given[i] ?? "");
  const isNamespace = anyOf(namespaces);
  const isWorkload = anyOf(workloads);
  const isPod = anyOf(pods);
  const isContainer = anyOf(containers);
  const hasLabels = allOf(labels);
  const hasAnnotations = allOf(annotations);
  return ({ pod: { metadata }, container, workload }) =>
    isNamespace(metadata.namespace) &&
    isWorkload(workload) &&
    isPod(metadata.name) &&
    isContainer(container) &&
    hasLabels(metadata.labels ?? {}) &&
    hasAnnotations(metadata.annotations ?? {});
}

const itemsOf = (text = ""): readonly string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function anyOf(text: string | undefined): (name: string) => boolean {
  const patterns = itemsOf(text).map(pattern);
  return (name) => patterns.length === 0 || patterns.some((each) => each.test(name));
}

function allOf(text: string | undefined): (values: Readonly<Record<string, string>>) => boolean {
  const conditions = itemsOf(text).map((item) => {
    const [, key = item, value] = /^([^=]*)=(.*)$/.exec(item) ?? [];
    return { key, value: value === undefined ? undefined : pattern(value) };
  });
  return (values) =>
    conditions.every(({ key, value }) => {
      const found = values[key];
      return found !== undefined && (value === undefined || value.test(found));
    });
}

/** Returns a pattern whose `*` stands for any text, and `?` for one character. */
function pattern(text: string): RegExp {
  const escaped = text.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");
}
