import { recordText } from "./recorded-texts.js";
import { analyzeTexts, type TextsToAnalyze } from "@istiod/analysis";

/** Analyzes a text. Returns `code origin line: message` for each message with one of the codes. */
export function messagesIn(
  text: string,
  codes: readonly string[],
  options: Omit<TextsToAnalyze, "files"> = {},
): readonly string[] {
  const { messages } = analyzeTexts({ files: [{ file: "in.yaml", text }], ...options });
  const found = messages.filter(({ code }) => code === "IST0001" || codes.includes(code));
  if (Object.keys(options).length === 0) recordText([text], found);
  return found.map(
    ({ code, origin, reference, message }) => `${code} ${origin} ${reference?.replace("in.yaml:", "")}: ${message}`,
  );
}

/** Returns the messages without their text: code, origin and line. */
export function placesIn(...args: Parameters<typeof messagesIn>): readonly string[] {
  return messagesIn(...args).map((message) => message.slice(0, message.indexOf(": ")));
}

/** A document of one line. */
export function object(
  kind: string,
  name: string,
  content: Readonly<Record<string, unknown>>,
  metadata: Readonly<Record<string, unknown>> = {},
): string {
  const groups: Readonly<Record<string, string>> = {
    VirtualService: "networking.istio.io/v1",
    DestinationRule: "networking.istio.io/v1",
    Gateway: "networking.istio.io/v1",
    ServiceEntry: "networking.istio.io/v1",
    Sidecar: "networking.istio.io/v1",
    WorkloadEntry: "networking.istio.io/v1",
    RequestAuthentication: "security.istio.io/v1",
    AuthorizationPolicy: "security.istio.io/v1",
    Ingress: "networking.k8s.io/v1",
    Telemetry: "telemetry.istio.io/v1",
    WasmPlugin: "extensions.istio.io/v1alpha1",
    CustomResourceDefinition: "apiextensions.k8s.io/v1",
  };
  const [namespace, own = namespace] = name.includes("/") ? name.split("/") : [undefined, name];
  const named = { name: own, ...(namespace !== undefined && { namespace }), ...metadata };
  return `${JSON.stringify({ apiVersion: groups[kind] ?? "v1", kind, metadata: named, ...content })}\n---\n`;
}
