import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Sample, startSample, whyNoEnvoy, whyNoProcess } from "@istiod/e2e";

const reason = (await whyNoEnvoy()) ?? whyNoProcess();
const program = join(
  dirname(createRequire(import.meta.url).resolve("@istiod/istiod/package.json")),
  "bin",
  "istiod.js",
);
const of = (service: string): string => `${service}.bookinfo.svc.cluster.local`;

/** Runs istiod's command line and returns what it prints. @throws Error with what it says on standard error */
async function istiod(args: readonly string[], input = ""): Promise<string> {
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env["PATH"] }, timeout: 30_000 });
  child.stdin.on("error", () => undefined).end(input);
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => void child.once("close", resolve)),
  ]);
  if (code !== 0) throw new Error(`exit status ${code}: ${err}`);
  return out;
}

const cells = (table: string): string[][] =>
  table
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd().split(/\s{2,}/));

describe("istiod's commands about a real Envoy", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let sample: Sample;
  let admin: readonly string[] = [];
  let address = "";
  beforeAll(async () => {
    if (reason) return;
    sample = await startSample(fileURLToPath(new URL("../../../samples/bookinfo", import.meta.url)));
    await sample.status();
    address = sample.workloads.find(({ name }) => name === "productpage-v1")?.address ?? "";
    admin = ["--admin", `http://${address}:15000`];
  }, 120_000);
  afterAll(() => sample?.close());

  it("print its clusters, listeners and routes", async () => {
    expect(cells(await istiod(["proxy-config", "clusters", ...admin, "--fqdn", "reviews"]))).toEqual([
      ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"],
      [of("reviews"), "9080", "-", "outbound", "EDS", "reviews.bookinfo"],
      [of("reviews"), "9080", "v1", "outbound", "EDS", "reviews.bookinfo"],
      [of("reviews"), "9080", "v2", "outbound", "EDS", "reviews.bookinfo"],
    ]);
    expect(await istiod(["pc", "l", ...admin, "--port", "9080", "--address", address])).toBe(
      `${"ADDRESSES".padEnd(address.length)} PORT MATCH                    DESTINATION\n${address} 9080 Trans: tls; Addr: *:9080 Cluster: inbound|9080||\n`,
    );
    expect(cells(await istiod(["pc", "r", ...admin, "--name", "9080"])).map((row) => row.slice(0, 2))).toEqual([
      ["NAME", "VHOST NAME"],
      ["9080", `${of("details")}:9080`],
      ["9080", `${of("reviews")}:9080`],
    ]);
    expect(JSON.parse(await istiod(["pc", "c", ...admin, "--subset", "v2", "-o", "json"]))).toMatchObject([
      {
        name: `outbound|9080|v2|${of("reviews")}`,
        edsClusterConfig: { serviceName: `outbound|9080|v2|${of("reviews")}` },
      },
    ]);
  });

  it("print its endpoints with their outlier checks", async () => {
    const v2 = sample.workloads.find(({ name }) => name === "reviews-v2")?.address ?? "";
    const cluster = `outbound|9080|v2|${of("reviews")}`;
    expect(cells(await istiod(["pc", "ep", ...admin, "--cluster", cluster]))).toEqual([
      ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"],
      [`${v2}:9080`, "HEALTHY", "OK", cluster],
    ]);
    expect(cells(await istiod(["pc", "eds", ...admin, "--cluster", cluster]))[1]).toEqual([
      `${v2}:9080`,
      "HEALTHY",
      "local/local-a",
      cluster,
    ]);
  });

  it("print its certificates and versions", async () => {
    const [header, ...rows] = cells(await istiod(["pc", "secret", ...admin]));
    expect(header).toEqual([
      "RESOURCE NAME",
      "TYPE",
      "STATUS",
      "VALID CERT",
      "SERIAL NUMBER",
      "NOT AFTER",
      "NOT BEFORE",
    ]);
    expect(rows.map((row) => row.slice(0, 4))).toEqual([
      ["default", "Cert Chain", "ACTIVE", "true"],
      ["ROOTCA", "CA", "ACTIVE", "true"],
    ]);
    const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
    for (const row of rows)
      expect(row.slice(4)).toEqual([/^[0-9a-f]{32}$/, time, time].map((pattern) => expect.stringMatching(pattern)));
    const { dynamicActiveSecrets } = JSON.parse(await istiod(["pc", "secret", ...admin, "-o", "json"])) as {
      dynamicActiveSecrets: { name: string; secret: { tlsCertificate?: { privateKey: object } } }[];
    };
    const redacted = { inlineBytes: Buffer.from("[redacted]").toString("base64") };
    expect(dynamicActiveSecrets.find(({ name }) => name === "default")?.secret.tlsCertificate?.privateKey).toEqual(
      redacted,
    );
    expect(await istiod(["pc", "b", ...admin, "-o", "short"])).toMatch(
      /^Istio Version: \d+\.\d+\.\d+\nEnvoy Version: \d+\.\d+\.\d+\/.*\n$/,
    );
    expect(JSON.parse(await istiod(["pc", "b", ...admin]))).toMatchObject({
      bootstrap: { node: { id: expect.stringContaining("productpage-v1.bookinfo") } },
    });
  });

  it("print everything in its dump, from standard input", async () => {
    const dump = await (await fetch(`http://${address}:15000/config_dump?include_eds`)).text();
    const printed = await istiod(["pc", "all", "--with-headers", "-f", "-"], dump);
    expect(printed).toBe(await istiod(["pc", "all", "--with-headers", ...admin]));
    expect(printed.match(/^------ .*$/gm)).toEqual(
      ["BOOTSTRAP", "CLUSTER", "LISTENER", "ROUTE", "SECRET", "ENDPOINTS"].map((part) => `------ ${part} INFO ------`),
    );
    const hosts = await (await fetch(`http://${address}:15000/clusters?format=json`)).text();
    expect(await istiod(["pc", "ep", "-f", "-"], hosts)).toBe(await istiod(["pc", "ep", ...admin]));
  });

  it("find no difference to what it was sent", async () => {
    for (const { name, namespace, address: own } of sample.workloads) {
      const compared = await istiod([
        "proxy-status",
        `${name}.${namespace}`,
        "--istiod",
        sample.istiod,
        "--admin",
        `http://${own}:15000`,
      ]);
      expect(`${name}: ${compared.replace(/ \(RDS last loaded at .* UTC\)/, "")}`).toBe(
        `${name}: Clusters Match\nListeners Match\nRoutes Match\n`,
      );
    }
    const rows = cells(await istiod(["ps", "--istiod", sample.istiod, "-n", "bookinfo", "-v", "1"]));
    expect(rows.slice(1).map((row) => row[2]?.replace(/\(.*\)/, "(…)"))).toEqual(
      Array.from({ length: 5 }, () => "SYNCED (…)"),
    );
  }, 120_000);
});
