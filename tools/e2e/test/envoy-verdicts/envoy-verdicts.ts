import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type BareEnvoy, startBareEnvoy } from "@istiod/e2e";
import { type AccessLogFilter, AccessLogFilterSchema } from "@istiod/envoy-api/envoy/config/accesslog/v3/accesslog";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { FileAccessLogSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/file/v3/file";
import { ExpressionFilterSchema } from "@istiod/envoy-api/envoy/extensions/access_loggers/filters/cel/v3/cel";
import { LuaSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/lua/v3/lua";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import {
  type HttpConnectionManager,
  HttpConnectionManagerSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { listenerType, type Resource, resource } from "@istiod/resources";

/** Listeners that are offered at once. */
const batch = 2000;

/** A connection manager with the part whose verdict is asked for. */
type Manager = Partial<Pick<HttpConnectionManager, "accessLog" | "tracing" | "httpFilters">> & {
  routeHeaders?: string;
};

/** Returns Envoy's error for each connection manager; undefined where it accepts it. An Envoy that ends is an error. */
export async function envoyVerdicts(
  binary: string,
  managers: readonly Manager[],
): Promise<readonly (string | undefined)[]> {
  const verdicts: (string | undefined)[] = [];
  for (let at = 0; at < managers.length; at += batch)
    verdicts.push(...(await bisected(binary, managers.slice(at, at + batch))));
  return verdicts;
}

async function bisected(binary: string, managers: readonly Manager[]): Promise<readonly (string | undefined)[]> {
  let envoy: BareEnvoy | undefined;
  try {
    envoy = await startBareEnvoy(binary);
    await envoy.offer(listenerType, managers.map(listener));
    const errors = await envoy.listenerErrors();
    return managers.map((_, n) => errors.get(`${n}`));
  } catch (cause) {
    if (managers.length === 1) return [String(cause)];
  } finally {
    await envoy?.close();
  }
  const half = managers.length >> 1;
  return [...(await bisected(binary, managers.slice(0, half))), ...(await bisected(binary, managers.slice(half)))];
}

export const textLog = (text: string): Manager =>
  fileLog({ case: "textFormatSource", value: { specifier: { case: "inlineString", value: text } } });

export const jsonLog = (text: string): Manager =>
  fileLog({ case: "jsonFormat", value: { outer: [{ inner: text }, 1, true, null] } });

export const header = (text: string): Manager => ({ routeHeaders: text });

export const traceTag = (text: string): Manager =>
  ({ tracing: { customTags: [{ tag: "a", type: { case: "value", value: text } }] } }) as unknown as Manager;

export const logFilter = (expression: string): Manager => {
  const filter = create(AccessLogFilterSchema, {
    filterSpecifier: {
      case: "extensionFilter",
      value: {
        name: "envoy.access_loggers.extension_filters.cel",
        configType: {
          case: "typedConfig",
          value: anyPack(ExpressionFilterSchema, create(ExpressionFilterSchema, { expression })),
        },
      },
    },
  });
  return fileLog({ case: "textFormatSource", value: { specifier: { case: "inlineString", value: "x" } } }, filter);
};

export const luaFilter = (script: string): Manager => {
  const lua = create(LuaSchema, { defaultSourceCode: { specifier: { case: "inlineString", value: script } } });
  return {
    httpFilters: [{ name: "lua", configType: { case: "typedConfig", value: anyPack(LuaSchema, lua) } }],
  } as unknown as Manager;
};

type Format =
  | { case: "textFormatSource"; value: { specifier: { case: "inlineString"; value: string } } }
  | { case: "jsonFormat"; value: JsonObject };

function fileLog(format: Format, filter?: AccessLogFilter): Manager {
  const log = create(FileAccessLogSchema, {
    path: "/dev/null",
    accessLogFormat: { case: "logFormat", value: { format } },
  });
  const configType = { case: "typedConfig", value: anyPack(FileAccessLogSchema, log) } as const;
  return { accessLog: [{ name: "log", configType, ...(filter && { filter }) }] } as unknown as Manager;
}

function listener({ routeHeaders, httpFilters = [], ...fields }: Manager, n: number): Resource {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: "x",
    ...fields,
    routeSpecifier: {
      case: "routeConfig",
      value:
        routeHeaders === undefined ? {} : { responseHeadersToAdd: [{ header: { key: "x-a", value: routeHeaders } }] },
    },
    httpFilters: [
      ...httpFilters,
      { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } },
    ],
  });
  const http = {
    name: "http",
    configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) },
  } as const;
  const address = {
    case: "socketAddress",
    value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: n + 1 } },
  } as const;
  return resource(
    `${n}`,
    toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name: `${n}`,
        address: { address },
        bindToPort: false,
        filterChains: [{ filters: [http] }],
      }),
    ),
  );
}
