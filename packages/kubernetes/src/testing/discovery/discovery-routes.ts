import type { Exchange } from "../http/exchange.js";
import { negotiate } from "../http/negotiate.js";
import { aggregatedDiscovery, apiGroup, apiGroupList, apiResourceList, apiVersions } from "./discovery-documents.js";
import type { TypeRegistry } from "./type-registry.js";

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Version that the server reports. */
const version = {
  major: "1",
  minor: "37",
  gitVersion: "v1.37.2",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
};

/** Answers discovery and the version. Returns false for other paths. */
export async function serveDiscovery(types: TypeRegistry, exchange: Exchange): Promise<boolean> {
  const path = exchange.path.replace(/\/$/, "");
  if (exchange.method !== "GET") return false;
  if (path === "/version") {
    await exchange.send(200, version);
    return true;
  }
  if (path === "/api" || path === "/apis") return serveRoot(types, exchange, path === "/api");
  const [, root, group = "", groupVersion] = path.split("/");
  const document =
    root === "api"
      ? apiResourceList(types, "", group)
      : root !== "apis"
        ? undefined
        : groupVersion === undefined
          ? apiGroup(types, group)
          : apiResourceList(types, group, groupVersion);
  if (document === undefined || path.split("/").length > 4) return false;
  negotiate(exchange.request.headers.accept);
  await exchange.send(200, document);
  return true;
}

const aggregatedForm = { kind: "APIGroupDiscoveryList", group: "apidiscovery.k8s.io", version: "v2" };

async function serveRoot(types: TypeRegistry, exchange: Exchange, isCore: boolean): Promise<boolean> {
  if (negotiate(exchange.request.headers.accept, [aggregatedForm]) === undefined) {
    await exchange.send(200, isCore ? apiVersions() : apiGroupList(types));
    return true;
  }
  await exchange.sendText(200, aggregatedType, `${JSON.stringify(aggregatedDiscovery(types, isCore))}\n`);
  return true;
}
