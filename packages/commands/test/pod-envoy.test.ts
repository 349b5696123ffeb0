import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSelfSignedRoot } from "@istiod/ca";
import { proxyConfigCommand, requestCommand } from "@istiod/commands";
import { describe, expect, onTestFinished, test } from "vitest";
import { sharedCluster } from "./cluster-run.js";
import { namespace, pod } from "./injection-mesh.js";

const meshed = (name: string, labels: string): string =>
  pod(name, "shop", { labels }).replace("image: app}]", "image: app}, {name: istio-proxy, image: proxy}]");

const mesh = `${namespace("shop")}${meshed("web-1", "{app: web}")}${["web-2", "other", "none"].map((name) => meshed(name, "{}")).join("")}${pod("plain", "shop")}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}}
`;

const dump = JSON.stringify({
  configs: [
    {
      "@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
      dynamic_active_clusters: [
        {
          cluster: {
            "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            name: "outbound|80||cart.shop.svc.cluster.local",
            type: "EDS",
          },
        },
      ],
    },
  ],
});

const root = async (name: string): Promise<string> =>
  (await createSelfSignedRoot({ organization: name }, Date.now())).certificate;
const [mine, others] = await Promise.all([root("mine"), root("others")]);

/** The dump of a proxy with its roots: several of the Pods whose names begin with web, and one or none of others. */
function secretsOf(pod: string): string {
  const roots = { "web-1": mine, "web-2": `${others}${mine}`, other: others }[pod];
  const secret = {
    name: "ROOTCA",
    secret: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
      name: "ROOTCA",
      validation_context: { trusted_ca: { inline_bytes: Buffer.from(roots ?? "").toString("base64") } },
    },
  };
  const type = "type.googleapis.com/envoy.admin.v3.SecretsConfigDump";
  return JSON.stringify({ configs: [{ "@type": type, dynamic_active_secrets: roots === undefined ? [] : [secret] }] });
}

/** The levels of an Envoy that remembers them. */
function loggers(): (path: string) => string {
  const levels: Record<string, string> = { admin: "warning", http: "warning" };
  return (path) => {
    const [, logger = "", level = ""] = /^\/logging\?(\w+)=(\w+)$/.exec(path) ?? [];
    if (logger === "level") for (const name of Object.keys(levels)) levels[name] = level;
    else if (logger !== "") levels[logger] = level;
    return `active loggers:\n${Object.entries(levels)
      .map(([name, own]) => `  ${name}: ${own}\n`)
      .join("")}`;
  };
}

describe("the Envoy of a Pod", () => {
  const asked: string[] = [];
  const admin = loggers();
  const cluster = sharedCluster(mesh, {
    exec: async ({ namespace: ns, pod: name, container, command }) => {
      asked.push(`${ns}/${name} ${container}: ${command.join(" ")}`);
      const [, , , path = ""] = command;
      if (path.startsWith("/logging")) return { stdout: admin(path) };
      return { stdout: path === "/config_dump" ? secretsOf(name) : dump };
    },
  });
  const proxyConfig = async (...args: string[]): Promise<string> => {
    const { out } = await cluster().run(
      ({ env, print, warn }) =>
        proxyConfigCommand(
          { env: env as NodeJS.ProcessEnv, readMesh: () => Promise.reject(new Error("no")) },
          print,
          warn,
        ),
      ...args,
    );
    return out;
  };

  test("is asked by its agent for its configuration, by the names of Pods and workloads", async () => {
    for (const name of ["web-1.shop", "deployment/web.shop"]) {
      const out = await proxyConfig("cluster", name, "--context", "test");
      expect(out).toMatch(/^SERVICE FQDN .*\ncart\.shop\.svc\.cluster\.local +80 +- +outbound +EDS/);
    }
    expect(await proxyConfig("cluster", "web-1", "-n", "shop", "--context", "test")).toContain("cart.shop");
    expect(new Set(asked)).toEqual(
      new Set(["shop/web-1 istio-proxy: pilot-agent request GET /config_dump?include_eds"]),
    );
  });

  test("has levels of loggers that are printed, changed and reset", async () => {
    const log = (...args: string[]): Promise<string> => proxyConfig("log", "web-1.shop", ...args);
    expect(await log()).toBe("web-1.shop:\nactive loggers:\n  admin: warning\n  http: warning\n");
    expect(await log("--level", "http:debug,info")).toBe(
      "web-1.shop:\nactive loggers:\n  admin: info\n  http: debug\n",
    );
    expect(await log("--reset")).toContain("http: warning");
    await expect(log("--level", "xds:debug")).rejects.toThrow('Envoy has no logger "xds"; it has admin, http');
  });

  test("trusts a root that another has, or not", async () => {
    const compare = (...pods: string[]): Promise<string> => proxyConfig("rootca-compare", ...pods);
    expect(await compare("web-1.shop", "web-2.shop")).toBe(
      "Both [web-1.shop] and [web-2.shop] have the identical ROOTCA, theoretically the connectivity between them is available\n",
    );
    await expect(compare("web-1.shop", "other.shop")).rejects.toThrow(
      "Both [web-1.shop] and [other.shop] have the non identical ROOTCA",
    );
    await expect(compare("web-1.shop", "none.shop")).rejects.toThrow("Pod none.shop: its proxy has no secret ROOTCA");
  });

  test.each([
    [["log", "plain.shop"], "Pod shop/plain: has no container istio-proxy"],
    [["log", "nobody.shop"], "nobody.shop: there is no such Pod"],
    [["log"], "expected a Pod, or --admin"],
    [["log", "web-1.shop", "--level", "loud"], "expected levels such as debug"],
    [["log", "web-1.shop", "--level", "info", "-r"], "--level and --reset: expected one of them"],
    [["cluster", "web-1", "--context", "test", "--admin", "http://a"], "--admin and --context: expected one source"],
  ])("istiod proxy-config %j is rejected", async (args, message) => {
    await expect(proxyConfig(...args)).rejects.toThrow(message);
  });
});

test("istiod request prints the answer of a running istiod", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/debug/none") response.writeHead(404).end("no such page");
    else request.pipe(response.writeHead(200, { path: `${request.method} ${request.url}` }), { end: true });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const istiod = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const request = async (...args: string[]): Promise<string> => {
    let out = "";
    const command = requestCommand({ print: (text) => (out += text) }).exitOverride();
    await command.parseAsync([...args, "--istiod", istiod], { from: "user" });
    return out;
  };
  expect(await request("post", "debug/x", "a body")).toBe("a body\n");
  await expect(request("GET", "/debug/none")).rejects.toThrow("GET /debug/none: 404: no such page");
  await expect(request("PUT", "/debug/x")).rejects.toThrow("method PUT: expected GET or POST");
  for (const path of ["//127.0.0.2/debug/x", "/\\127.0.0.2/debug/x", "//"])
    await expect(request("GET", path)).rejects.toThrow(`path ${path}: expected a path of istiod`);
  await expect(request("GET", "/debug/x", "body")).rejects.toThrow("body: a GET has none");
});
