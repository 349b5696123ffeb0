import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Closers } from "@istiod/runtime";
import { stringify } from "yaml";
import { Receiver } from "./receiver.js";

/** The files of `npm run collector:install` and `npm run zipkin:install`. */
const collector = fileURLToPath(new URL("../build/collector", import.meta.url));
const zipkin = fileURLToPath(new URL("../build/zipkin-server-exec.jar", import.meta.url));

/** Returns the reason why no collector of OpenTelemetry can be started; undefined if it can. */
export function whyNoCollector(): string | undefined {
  return existsSync(collector) ? undefined : "no OpenTelemetry collector: run `npm run collector:install`";
}

/** Returns the reason why no Zipkin can be started; undefined if it can. */
export function whyNoZipkin(): string | undefined {
  if (!existsSync(zipkin)) return "no Zipkin: run `npm run zipkin:install`";
  return whyNoJava();
}

/** The version of Java that Zipkin needs. */
const javaVersion = 17;

/** Returns the reason why a Java does not run Zipkin; undefined if it does. */
export function whyNoJava(command = "java"): string | undefined {
  const { status, stderr } = spawnSync(command, ["-version"], { encoding: "utf8" });
  const needed = `Zipkin needs Java ${javaVersion} or later`;
  if (status !== 0) return `no Java: ${needed}`;
  // Until Java 8, versions were 1.8.
  const [, major] = /version "(?:1\.)?(\d+)/.exec(stderr) ?? [];
  if (major === undefined) return `unknown version of Java: ${needed}`;
  return Number(major) >= javaVersion ? undefined : `Java ${major}: ${needed}`;
}

/** Attributes of OTLP, all as text. */
export type Attributes = Readonly<Record<string, string>>;

/** A span as a receiver has it. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly kind: string;
  readonly name: string;
  readonly tags: Attributes;
  /** Attributes of the resource, for OTLP only. */
  readonly resource: Attributes;
}

/** A log record that a collector received. */
export interface ReceivedLog {
  readonly body: string;
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

/** A running collector of OpenTelemetry, which receives OTLP by gRPC at port 4317 and by HTTP at port 4318. */
export interface Collector {
  spans(): readonly ReceivedSpan[];
  logs(): readonly ReceivedLog[];
  /** Ends it, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again after {@link kill}. */
  start(): Promise<void>;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value?: { readonly stringValue?: string; readonly intValue?: string; readonly boolValue?: boolean };
}
interface OtlpResource {
  readonly resource?: { readonly attributes?: readonly OtlpAttribute[] };
}
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind?: number;
  readonly name: string;
  readonly attributes?: readonly OtlpAttribute[];
}
interface OtlpLog {
  readonly body?: { readonly stringValue?: string };
  readonly attributes?: readonly OtlpAttribute[];
}
interface OtlpExport {
  readonly resourceSpans?: readonly (OtlpResource & {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  })[];
  readonly resourceLogs?: readonly (OtlpResource & {
    readonly scopeLogs: readonly { readonly logRecords: readonly OtlpLog[] }[];
  })[];
}

const attributesOf = (list: readonly OtlpAttribute[] = []): Attributes =>
  Object.fromEntries(list.map(({ key, value = {} }) => [key, String(Object.values(value)[0] ?? "")]));

const kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

/**
 * Starts a collector at an address, with its configuration in a directory, and ends it with the closers.
 *
 * @throws Error if there is none; call {@link whyNoCollector} first
 */
export async function startCollector(address: string, directory: string, closers: Closers): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const logs: ReceivedLog[] = [];
  const receive = ({ resourceSpans = [], resourceLogs = [] }: OtlpExport): void => {
    for (const { resource, scopeSpans } of resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push(toSpan(span, attributesOf(resource?.attributes)));
    for (const { resource, scopeLogs } of resourceLogs)
      for (const { body, attributes } of scopeLogs.flatMap((scope) => scope.logRecords))
        logs.push({
          body: body?.stringValue ?? "",
          attributes: attributesOf(attributes),
          resource: attributesOf(resource?.attributes),
        });
  };
  const port = await listenForExports(receive, closers);
  const file = join(directory, "collector.yaml");
  await writeFile(file, stringify(configuration(address, port)));
  let receiver: Receiver | undefined;
  const kill = async (): Promise<void> => {
    await receiver?.kill();
    receiver = undefined;
  };
  const start = async (): Promise<void> => {
    receiver = new Receiver(collector, ["--config", file]);
    await receiver.until("the collector listens", () => isOpen(address, 4317), 60_000);
  };
  closers.defer(kill);
  await start();
  return { spans: () => spans, logs: () => logs, kill, start };
}

function toSpan(
  { traceId, spanId, parentSpanId = "", kind = 0, name, attributes }: OtlpSpan,
  resource: Attributes,
): ReceivedSpan {
  const service = resource["service.name"] ?? "";
  return {
    service,
    traceId,
    spanId,
    parentSpanId,
    kind: kinds[kind] ?? "",
    name,
    tags: attributesOf(attributes),
    resource,
  };
}

/** Returns a configuration that sends what it receives to a port of this process at once. */
function configuration(address: string, port: number): object {
  const pipeline = { receivers: ["otlp"], exporters: ["otlphttp"] };
  return {
    receivers: {
      otlp: { protocols: { grpc: { endpoint: `${address}:4317` }, http: { endpoint: `${address}:4318` } } },
    },
    exporters: {
      otlphttp: {
        endpoint: `http://127.0.0.1:${port}`,
        encoding: "json",
        compression: "none",
        sending_queue: { enabled: false },
        retry_on_failure: { enabled: false },
      },
    },
    service: { telemetry: { metrics: { level: "none" } }, pipelines: { traces: pipeline, logs: pipeline } },
  };
}

async function listenForExports(receive: (body: OtlpExport) => void, closers: Closers): Promise<number> {
  const server = createServer((request: IncomingMessage, response) => {
    void text(request).then((body) => {
      receive(JSON.parse(body) as OtlpExport);
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.defer(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

/** A running Zipkin server at port 9411. */
export interface Zipkin {
  spans(): Promise<readonly ReceivedSpan[]>;
  /** Ends it, as a crash would. */
  kill(): Promise<void>;
}

interface ZipkinSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly localEndpoint?: { readonly serviceName?: string };
  readonly tags?: Attributes;
}

/**
 * Starts a Zipkin server at an address, and ends it with the closers.
 *
 * @throws Error if there is none; call {@link whyNoZipkin} first
 */
export async function startZipkin(address: string, closers: Closers): Promise<Zipkin> {
  const flags = ["-Xmx256m", "-XX:TieredStopAtLevel=1", `-Darmeria.ports[0].port=9411`];
  const ports = [`-Darmeria.ports[0].ip=${address}`, "-Darmeria.ports[0].protocols[0]=http"];
  const receiver = new Receiver("java", [...flags, ...ports, "-jar", zipkin, "--logging.level.root=ERROR"]);
  closers.defer(() => receiver.kill());
  const url = `http://${address}:9411`;
  await receiver.until("Zipkin is ready", async () => (await fetch(`${url}/health`)).ok, 120_000);
  return {
    kill: () => receiver.kill(),
    spans: async () => {
      const response = await fetch(`${url}/api/v2/traces?limit=1000&lookback=3600000`);
      const traces = (await response.json()) as readonly (readonly ZipkinSpan[])[];
      return traces.flat().map(({ traceId, id, parentId = "", kind = "", name = "", localEndpoint, tags = {} }) => ({
        ...{ service: localEndpoint?.serviceName ?? "", traceId, spanId: id, parentSpanId: parentId },
        ...{ kind, name, tags, resource: {} },
      }));
    },
  };
}

const isOpen = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    const answer = (open: boolean) => () => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", answer(true)).once("error", answer(false));
  });
