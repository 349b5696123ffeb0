import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { folder, serve } from "./serving.js";

const service = (name: string, port: string): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [${port}]}}\n---\n`;
const mesh = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
${service("ratings", "{name: http, port: 80}")}${service("db", "{name: tcp, port: 3306}")}`;

const object = (kind: string, spec: string, api = "networking.istio.io/v1"): string =>
  `{apiVersion: ${api}, kind: ${kind}, metadata: {name: wrong, namespace: shop}, spec: ${spec}}\n`;
const routeTo = (host: string): string => `[{destination: {host: ${host}}}]`;

/** Mistakes of docs/traffic-mistakes.md, one of each way in which istiod finds them, with the beginning of the words. */
const mistakes: Readonly<Record<string, { readonly text: string; readonly words: string }>> = {
  "an invalid value": {
    text: object("VirtualService", `{hosts: [ratings], http: [{timeout: 500, route: ${routeTo("ratings")}}]}`),
    words: "is 500, expected a duration",
  },
  "a part without effect": {
    text: object(
      "VirtualService",
      `{hosts: [ratings], http: [{route: ${routeTo("ratings")}}, {route: ${routeTo("ratings")}}]}`,
    ),
    words: "is never reached",
  },
  "a host that does not exist": {
    text: object("VirtualService", `{hosts: [ratings], http: [{route: ${routeTo("ratigns")}}]}`),
    words: 'referenced host "ratigns" not found',
  },
  "settings of another protocol": {
    text: object("DestinationRule", "{host: db, trafficPolicy: {connectionPool: {http: {maxRetries: 3}}}}"),
    words: "has no effect: db has no port for HTTP",
  },
  "a namespace that does not exist": {
    text: object("AuthorizationPolicy", "{rules: [{from: [{source: {namespaces: [shpo]}}]}]}", "security.istio.io/v1"),
    words: 'referenced namespace "shpo" not found',
  },
};

test.for(Object.entries(mistakes))(
  "%s is said by the log, the analysis and the status page within seconds",
  { timeout: 120_000 },
  async ([, { text, words }], context) => {
    const directory = await folder({ "mesh/mesh.yaml": mesh });
    const istiod = await serve({ configDir: join(directory, "mesh") });
    const read = async (path: string): Promise<unknown> => (await fetch(`${istiod.http}${path}`)).json();
    // Answers once the first analysis is complete.
    expect(plain(await read("/debug/analyze"))).not.toContain(words);
    const places: Readonly<Record<string, () => Promise<unknown>>> = {
      log: async () => istiod.lines.map(({ msg }) => msg).join("\n"),
      analysis: () => read("/debug/analyze"),
      "status page": () => read("/?format=json"),
    };
    const started = performance.now();
    await writeFile(join(directory, "mesh/wrong.yaml"), text);
    const seconds = await Promise.all(
      Object.entries(places).map(async ([place, said]) => {
        await vi.waitFor(async () => expect(plain(await said())).toContain(words), { timeout: 60_000, interval: 20 });
        return `${place} ${((performance.now() - started) / 1000).toFixed(1)} s`;
      }),
    );
    await context.annotate(seconds.join(", "));
  },
);

function plain(said: unknown): string {
  return typeof said === "string" ? said : JSON.stringify(said).replaceAll('\\"', '"');
}
