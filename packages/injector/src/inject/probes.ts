import { encodeAny, encodeStruct } from "../go-types/encode.js";
import type { JsonObject } from "../go-types/json.js";
import type { Pod } from "../pod.js";
import {
  annotationsOf,
  appendVariables,
  findContainer,
  proxyContainer,
  sidecarStatusAnnotation,
  specOf,
} from "../pod-fields.js";
import { type AppProber, rewriteProbes } from "../rewrite-probes.js";
import { parseGoBoolean } from "@istiod/settings";

const probersVariable = "ISTIO_KUBE_APP_PROBERS";

/**
 * Points the probes of a pod's applications at the agent, unless values or the annotation say otherwise, and gives the
 * agent the original ones. On re-injection the probes that the agent already has stay.
 */
export function takeOverProbes(pod: JsonObject, statusPort: number, isDefault: boolean): void {
  const proxy = findContainer(pod, proxyContainer);
  if (proxy === undefined) return;
  const requested = annotationsOf(pod)["sidecar.istio.io/rewriteAppHTTPProbers"];
  if (!((requested === undefined ? undefined : parseGoBoolean(requested)) ?? isDefault)) return;
  const { pod: rewritten, probers } = rewriteProbes(pod as unknown as Pod, statusPort);
  const texts = new Map(Object.entries(probers).map(([path, prober]) => [path, proberText(prober)]));
  if (texts.size > 0) addProbers(proxy, texts, sidecarStatusAnnotation in annotationsOf(pod));
  const { containers, initContainers } = rewritten.spec ?? {};
  const spec = specOf(pod);
  const withProxy = (list: readonly unknown[] | undefined): unknown =>
    list?.map((container) => ((container as JsonObject)["name"] === proxyContainer ? proxy : container));
  if (containers !== undefined) spec["containers"] = withProxy(containers);
  if (initContainers !== undefined) spec["initContainers"] = withProxy(initContainers);
}

function addProbers(proxy: JsonObject, probers: Map<string, string>, isReinjection: boolean): void {
  const variables = (proxy["env"] ?? []) as JsonObject[];
  const at = isReinjection ? variables.findIndex(({ name }) => name === probersVariable) : -1;
  const value = (): string =>
    `{${[...probers]
      .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map(([path, text]) => `${encodeAny(path)}:${text}`)
      .join(",")}}`;
  if (at < 0) return appendVariables(proxy, [{ name: probersVariable, value: value() }]);
  const present = readProbers(variables[at]?.["value"]);
  if (present === undefined) return;
  for (const [path, prober] of Object.entries(present)) probers.set(path, proberText(prober));
  proxy["env"] = variables.map((variable, i) => (i === at ? { name: probersVariable, value: value() } : variable));
}

function readProbers(text: unknown): Readonly<Record<string, AppProber>> | undefined {
  try {
    return JSON.parse(String(text)) as Readonly<Record<string, AppProber>>;
  } catch {
    return undefined;
  }
}

function proberText({ httpGet, tcpSocket, grpc, timeoutSeconds }: AppProber): string {
  const struct = (name: string, value: unknown): string => encodeStruct(name, value as JsonObject);
  const members = {
    httpGet: httpGet && struct("HTTPGetAction", httpGet),
    tcpSocket: tcpSocket && struct("TCPSocketAction", tcpSocket),
    grpc: grpc && struct("GRPCAction", grpc),
    timeoutSeconds: timeoutSeconds ? String(timeoutSeconds) : undefined,
  };
  const present = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${present.map(([name, text]) => `"${name}":${text}`).join(",")}}`;
}
