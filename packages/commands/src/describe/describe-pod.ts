import type { Pod } from "../cluster/pod-of.js";
import { podRevision } from "../cluster/pod-revision.js";
import { shortName } from "./short-name.js";

/** The user that only proxies may have, as its traffic is not redirected. */
const PROXY_USER = 1337;

const deploymentRequirements = "https://istio.io/latest/docs/ops/deployment/application-requirements/";

/** Reports whether a Pod has a proxy. */
export function isMeshed({ spec }: Pod): boolean {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some(({ name }) => name === "istio-proxy");
}

/** Describes a Pod itself: its revision, its ports, and what Istio requires of it. */
export function describePod(
  pod: Pod,
  commandNamespace: string,
  { ignoreUnmeshed }: { readonly ignoreUnmeshed: boolean },
): string {
  const name = shortName(pod.metadata, commandNamespace);
  const { spec, status } = pod;
  const lines = [
    ...(hasProxyUser(pod) ? ["WARNING: User ID (UID) 1337 is reserved for the sidecar proxy."] : []),
    `Pod: ${name}`,
    `   Pod Revision: ${podRevision(pod)}`,
    describePorts(spec?.containers ?? []),
  ];
  if (status?.phase !== "Running") lines.push(`   Pod is not Running (${status?.phase ?? "Unknown"})`);
  else {
    const unready = (statuses: typeof status.containerStatuses = []): string[] =>
      statuses.filter(({ ready }) => ready === false).map((each) => each.name);
    lines.push(
      ...unready(status.containerStatuses).map((each) => `WARNING: Pod ${name} Container ${each} NOT READY`),
      ...unready(status.initContainerStatuses).map((each) => `WARNING: Pod ${name} Init Container ${each} NOT READY`),
    );
    if (!ignoreUnmeshed) lines.push(...meshNotes(pod, name));
  }
  return lines.map((line) => `${line}\n`).join("");
}

function hasProxyUser({ spec }: Pod): boolean {
  const own = (spec?.containers ?? []).filter(({ name }) => name !== "istio-proxy");
  return [spec?.securityContext, ...own.map(({ securityContext }) => securityContext)].some(
    (context) => context?.runAsUser === PROXY_USER,
  );
}

function describePorts(containers: NonNullable<Pod["spec"]>["containers"] & object): string {
  const ports = containers.flatMap(({ name, ports: own = [] }) =>
    own.map(
      ({ containerPort, protocol = "TCP" }) => `${containerPort}${protocol === "TCP" ? "" : `/${protocol}`} (${name})`,
    ),
  );
  return ports.length === 0 ? "   Pod does not expose ports" : `   Pod Ports: ${ports.join(", ")}`;
}

function meshNotes(pod: Pod, name: string): string[] {
  if (!isMeshed(pod)) return [`WARNING: ${name} is not part of mesh; no Istio sidecar`];
  const labels = pod.metadata.labels ?? {};
  const has = (...keys: string[]): boolean => keys.some((key) => labels[key] !== undefined);
  const suggestion = (what: string): string =>
    `Suggestion: add required service ${what} label for Istio telemetry. See ${deploymentRequirements}.`;
  return [
    ...(has("service.istio.io/canonical-name", "app.kubernetes.io/name", "app") ? [] : [suggestion("name")]),
    ...(has("service.istio.io/canonical-revision", "app.kubernetes.io/version", "version")
      ? []
      : [suggestion("revision")]),
  ];
}
