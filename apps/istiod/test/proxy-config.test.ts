import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { mint } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, endpointType, listenerType, routeType } from "@istiod/xds-server";
import { afterEach, describe, expect, it } from "vitest";
import { proxyConfigCommand, proxyStatusCommand } from "@istiod/commands";
import { offlineMeshes } from "../src/offline-mesh.js";
import { client, folder, serve } from "./serving.js";

const bookinfo = fileURLToPath(new URL("../../../samples/bookinfo", import.meta.url));
const offline = ["--configDir", bookinfo, "--meshConfig", "", "--networksConfig", ""];
const proxy = "productpage-v1.bookinfo";
const of = (service: string): string => `${service}.bookinfo.svc.cluster.local`;

async function proxyConfig(...args: string[]): Promise<string> {
  let out = "";
  const command = proxyConfigCommand(offlineMeshes({}), (text) => (out += text));
  for (const each of [command, ...command.commands]) each.exitOverride().configureOutput({ writeErr: () => undefined });
  await command.parseAsync(args, { from: "user" });
  return out;
}

async function proxyStatus(...args: string[]): Promise<string> {
  let out = "";
  const ignore = (): void => undefined;
  await proxyStatusCommand({ print: (text) => (out += text), warn: ignore, exit: ignore })
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parseAsync(args, { from: "user" });
  return out;
}

/** The cells of a table, by line. */
const cells = (table: string): string[][] =>
  table
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd().split(/\s{2,}/));

describe("istiod proxy-config of a directory", () => {
  it("prints clusters", async () => {
    const table = await proxyConfig("clusters", proxy, ...offline, "--direction", "outbound");
    expect(cells(table)).toEqual([
      ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"],
      [of("details"), "9080", "-", "outbound", "EDS"],
      [of("reviews"), "9080", "-", "outbound", "EDS", "reviews.bookinfo"],
      [of("reviews"), "9080", "v1", "outbound", "EDS", "reviews.bookinfo"],
      [of("reviews"), "9080", "v2", "outbound", "EDS", "reviews.bookinfo"],
    ]);
    expect(await proxyConfig("c", "--proxy", proxy, ...offline, "--direction", "outbound", "-o", "table")).toBe(table);
    expect(JSON.parse(await proxyConfig("cluster", proxy, ...offline, "--subset", "v2", "-o", "json"))).toMatchObject([
      { name: `outbound|9080|v2|${of("reviews")}`, type: "EDS" },
    ]);
    expect(
      await proxyConfig("cluster", proxy, ...offline, "--fqdn", "details", "--port", "9080", "-o", "yaml"),
    ).toContain(`\n  name: outbound|9080||${of("details")}\n`);
  });

  it("prints listeners", async () => {
    expect((await proxyConfig("l", proxy, ...offline, "--port", "9080")).split("\n")).toEqual([
      "ADDRESSES   PORT MATCH                    DESTINATION",
      "127.20.0.11 9080 Trans: tls; Addr: *:9080 Cluster: inbound|9080||",
      "127.30.0.11 9080 ALL                      Route: 9080",
      "",
    ]);
    expect(
      (await proxyConfig("listener", proxy, ...offline, "--address", "127.30.0.11", "--verbose=false")).split("\n"),
    ).toEqual(["ADDRESSES   PORT TYPE", "127.30.0.11 9080 HTTP", ""]);
    const http = JSON.parse(await proxyConfig("listeners", proxy, ...offline, "--type", "http", "-o", "json")) as {
      name: string;
    }[];
    expect(http.map(({ name }) => name).sort()).toEqual(["127.20.0.11_9080", "127.30.0.11_9080"]);
  });

  it("prints routes", async () => {
    const table = cells(await proxyConfig("r", proxy, ...offline, "--name", "9080"));
    expect(table[0]).toEqual(["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"]);
    expect(table.slice(1).map(([name, host, , match, by]) => [name, host, match, by])).toEqual([
      ["9080", `${of("details")}:9080`, "/*", undefined],
      ["9080", `${of("reviews")}:9080`, "/*", "reviews.bookinfo"],
    ]);
    const gateway = cells(await proxyConfig("routes", "ingressgateway.istio-system", ...offline));
    expect(gateway.map((row) => row.slice(-2))).toContainEqual(["/productpage", "bookinfo.bookinfo"]);
  });

  it("prints endpoints, for whose outlier checks only the proxy could answer", async () => {
    const table = cells(await proxyConfig("ep", proxy, ...offline, "--cluster", `outbound|9080|v2|${of("reviews")}`));
    expect(table).toEqual([
      ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"],
      ["127.20.0.14:9080", "HEALTHY", "-", `outbound|9080|v2|${of("reviews")}`],
    ]);
    expect(cells(await proxyConfig("eds", proxy, ...offline, "--address", "127.20.0.12"))[1]).toEqual([
      "127.20.0.12:9080",
      "HEALTHY",
      "local/local-a",
      `outbound|9080||${of("details")}`,
    ]);
    expect(
      JSON.parse(
        await proxyConfig("endpoint", proxy, ...offline, "--status", "healthy", "--port", "9080", "-o", "json"),
      ),
    ).toHaveLength(4);
  });

  it("prints everything, but for the bootstrap", async () => {
    const text = await proxyConfig("all", proxy, ...offline, "--with-headers");
    expect(text.match(/^------ .*$/gm)).toEqual(
      ["CLUSTER", "LISTENER", "ROUTE", "SECRET", "ENDPOINTS"].map((part) => `------ ${part} INFO ------`),
    );
    expect(text).toMatch(
      new RegExp(
        `^endpoint/127\\.20\\.0\\.12:9080 +HEALTHY +local/local-a +outbound\\|9080\\|\\|${of("details")}$`,
        "m",
      ),
    );
    expect(await proxyConfig("s", proxy, ...offline)).toBe("No active or warming secrets found.\n");
    await expect(proxyConfig("b", proxy, ...offline)).rejects.toThrow(/the bootstrap is empty/);
  });

  it("never prints private keys", async () => {
    const pair = await mint({});
    const mesh = [
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "front", namespace: "edge" },
        type: "kubernetes.io/tls",
        stringData: { "tls.crt": pair.pem, "tls.key": pair.keyPem },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "gw", namespace: "edge", labels: { app: "gw" } },
        spec: { serviceAccountName: "gw" },
        status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] },
      },
      {
        apiVersion: "networking.istio.io/v1",
        kind: "Gateway",
        metadata: { name: "front", namespace: "edge" },
        spec: {
          selector: { app: "gw" },
          servers: [
            {
              port: { number: 443, name: "https", protocol: "HTTPS" },
              hosts: ["*"],
              tls: { mode: "SIMPLE", credentialName: "front" },
            },
          ],
        },
      },
    ];
    const configDir = await folder({ "mesh.yaml": mesh.map((object) => JSON.stringify(object)).join("\n---\n") });
    const args = ["gw.edge", "--configDir", configDir, "--meshConfig", "", "--networksConfig", ""];
    const row = cells(await proxyConfig("secrets", ...args))[1] ?? [];
    expect(row[0]).toBe("kubernetes://front");
    expect(row).toContain("ACTIVE");
    for (const kind of ["secrets", "all"]) {
      for (const format of ["short", "json", "yaml"]) {
        const text = await proxyConfig(kind, ...args, "-o", format);
        expect(text).toContain("kubernetes://front");
        expect(text).not.toContain(pair.keyPem.split("\n")[1]);
        expect(text).not.toContain(Buffer.from(pair.keyPem).toString("base64"));
      }
    }
  });

  it("reports invalid flags", async () => {
    await expect(proxyConfig("c")).rejects.toThrow(
      /no proxy: expected name\.namespace of a Pod or a node ID, --admin, or --file/,
    );
    await expect(proxyConfig("c", proxy, ...offline, "--istiod", "http://127.0.0.1:1")).rejects.toThrow(
      "--configDir and --istiod: expected one source of the configuration",
    );
    await expect(proxyConfig("c", proxy, "--admin", "http://127.0.0.1:1")).rejects.toThrow(
      `--admin and proxy ${proxy}: --admin is of one proxy already`,
    );
    await expect(proxyConfig("c", proxy, "--proxy", "other.bookinfo")).rejects.toThrow(
      `--proxy other.bookinfo and ${proxy}: expected one proxy`,
    );
    await expect(proxyConfig("c", "nobody.bookinfo", ...offline)).rejects.toThrow(/there is no Pod "nobody\.bookinfo"/);
    await expect(proxyConfig("c", "--file", "/no/such/file")).rejects.toThrow(/--file \/no\/such\/file: ENOENT/);
    await expect(proxyConfig("c", "--admin", "nowhere")).rejects.toThrow(
      "--admin nowhere: expected a URL such as http://127.0.0.1:15000",
    );
    await expect(proxyConfig("c", proxy, ...offline, "--port", "http")).rejects.toThrow(
      /--port <port>' argument 'http' is invalid/,
    );
    await expect(proxyConfig("c", proxy, ...offline, "-o", "xml")).rejects.toThrow(
      /Allowed choices are short, table, json, yaml/,
    );
    await expect(proxyConfig("c", "--file", join(bookinfo, "traffic.yaml"))).rejects.toThrow(/config dump: /);
  });
});

const ends: (() => unknown)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

/** A proxy that has accepted all of its configuration from an istiod. */
async function connected(istiod: Awaited<ReturnType<typeof serve>>, name: string): Promise<void> {
  const metadata: JsonObject = {
    NAMESPACE: "bookinfo",
    CLUSTER_ID: "Kubernetes",
    ISTIO_VERSION: "1.29.1",
    LABELS: { app: "productpage", version: "v1" },
    PROXY_CONFIG: {},
  };
  const web = client(
    istiod,
    "delta",
    create(NodeSchema, { id: `sidecar~127.20.0.11~${name}.bookinfo~bookinfo.svc.cluster.local`, metadata }),
  );
  web.subscribe(clusterType);
  await web.accept(clusterType);
  web.subscribe(endpointType, [`outbound|9080||${of("details")}`]);
  await web.accept(endpointType);
  web.subscribe(listenerType);
  await web.accept(listenerType);
  web.subscribe(routeType, ["9080"]);
  await web.accept(routeType);
  await web.settled();
}

describe("of a running istiod", () => {
  it("proxy-config prints what the proxy was sent", async () => {
    const istiod = await serve({ configDir: bookinfo });
    await connected(istiod, "productpage-v1");
    const running = [proxy, "--istiod", istiod.http];
    expect(await proxyConfig("c", ...running)).toBe(await proxyConfig("c", proxy, ...offline));
    expect(await proxyConfig("r", ...running)).toBe(await proxyConfig("r", proxy, ...offline));
    expect(cells(await proxyConfig("ep", ...running))[2]).toEqual([
      "127.20.0.12:9080",
      "HEALTHY",
      "-",
      `outbound|9080||${of("details")}`,
    ]);
    await expect(proxyConfig("c", "nobody.bookinfo", "--istiod", istiod.http)).rejects.toThrow(
      "proxy nobody.bookinfo: is not connected to any replica that answers",
    );
    await expect(proxyConfig("c", proxy, "--istiod", "http://127.0.0.1:1")).rejects.toThrow(
      "http://127.0.0.1:1 does not answer: no response: bad port",
    );
  });

  it("proxy-status prints the status of each proxy and the instance of istiod", async () => {
    const istiod = await serve({ configDir: bookinfo }, { POD_NAME: "istiod-7" });
    await connected(istiod, "productpage-v1");
    const id = `sidecar~127.20.0.11~productpage-v1.bookinfo~bookinfo.svc.cluster.local`;
    expect(cells(await proxyStatus("--istiod", istiod.http))).toEqual([
      ["NAME", "CLUSTER", "ISTIOD", "VERSION", "SUBSCRIBED TYPES"],
      [id, "Kubernetes", "istiod-7", "1.29.1", expect.stringMatching(/^\d \(CDS,LDS,EDS,RDS/)],
    ]);
    const [header = [], row = []] = cells(await proxyStatus("--istiod", istiod.http, "-v", "1"));
    // The test's client has a type of its own.
    const columns = header.map((name, at) => [name, row[at]]).filter(([name]) => !name?.startsWith("fence/"));
    const synced = expect.stringMatching(/^SYNCED \(\d+s\)$/) as string;
    expect(columns).toEqual([
      ["NAME", id],
      ["CLUSTER", "Kubernetes"],
      ["CDS", synced],
      ["ECDS", "IGNORED"],
      ["EDS", synced],
      ["LDS", synced],
      ["RDS", synced],
      ["ISTIOD", "istiod-7"],
      ["VERSION", "1.29.1"],
    ]);
    expect(JSON.parse(await proxyStatus("--istiod", istiod.http, "-o", "json"))).toMatchObject({
      resources: [{ "@type": "type.googleapis.com/envoy.service.status.v3.ClientConfig", node: { id } }],
    });
    expect(cells(await proxyStatus("--istiod", istiod.http, "-n", "elsewhere"))).toHaveLength(1);
  });

  it("proxy-status names the host where there is no Pod", async () => {
    const istiod = await serve({ configDir: bookinfo });
    const { controlPlane } = JSON.parse(await proxyStatus("--istiod", istiod.http, "-o", "json")) as {
      controlPlane: { identifier: string };
    };
    expect(JSON.parse(controlPlane.identifier)).toMatchObject({
      Component: "istiod",
      ID: hostname(),
      Info: { version: "0.1.0" },
    });
  });

  it("proxy-status compares a proxy with what it was sent", async () => {
    const istiod = await serve({ configDir: bookinfo });
    await connected(istiod, "productpage-v1");
    const dump = await (await fetch(`${istiod.http}/debug/config_dump?proxyID=${proxy}`)).text();
    const files = await folder({
      "same.json": dump,
      "other.json": dump.replaceAll('"connectTimeout":"10s"', '"connectTimeout":"11s"'),
    });
    const of = async (name: string): Promise<string> =>
      proxyStatus(proxy, "--istiod", istiod.http, "--file", join(files, name));
    expect(await of("same.json")).toBe("Clusters Match\nListeners Match\nRoutes Match\n");
    expect(await of("other.json")).toMatch(
      /^Clusters Don't Match\n--- Istiod Clusters\n\+\+\+ Envoy Clusters\n[^]*\n-        "connectTimeout": "10s",\n\+        "connectTimeout": "11s",\n[^]*\nListeners Match\nRoutes Match\n$/,
    );
    await expect(proxyStatus(proxy, "--istiod", istiod.http)).rejects.toThrow(
      `proxy ${proxy}: expected --admin or --file to compare with what istiod sent`,
    );
    await expect(proxyStatus("--istiod", istiod.http, "--admin", "http://127.0.0.1:1")).rejects.toThrow(
      "--admin: expected the proxy to compare as an argument",
    );
  });
});
