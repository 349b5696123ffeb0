import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildNodeMetadata, readOptions, readProxy } from "../src/index.js";
import type { Platform } from "../src/platform/platform.js";
import { readPlatform } from "../src/platform/read-platform.js";
import { scratch } from "./fakes.js";
import { recordingLog } from "./recording-log.js";

type Answer = string | { readonly status: number; readonly body: string };

/** A metadata server that answers requests of `METHOD path`, with the headers that they must have. */
async function server(answers: Readonly<Record<string, Answer>>, required: Readonly<Record<string, string>> = {}) {
  const http = createServer((request, response) => {
    const answer = answers[`${request.method} ${request.url}`];
    const isAllowed = request.method === "PUT" || Object.entries(required).every(([k, v]) => request.headers[k] === v);
    if (answer === undefined || !isAllowed) return void response.writeHead(isAllowed ? 404 : 403).end("no");
    const { status, body } = typeof answer === "string" ? { status: 200, body: answer } : answer;
    response.writeHead(status).end(body);
  });
  onTestFinished(() => void http.close());
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(http.address() as AddressInfo).port}`;
}

async function read(env: Readonly<Record<string, string>>, host: string, resolver = "") {
  const resolvConf = join(await scratch(), "resolv.conf");
  await writeFile(resolvConf, resolver);
  const { log, messages } = recordingLog();
  const options = readOptions({}, { GCE_METADATA_HOST: host, ...env });
  return { platform: await readPlatform(options, log, { host, resolvConf }), messages };
}

test("AWS is asked with a token of the service's second version", async () => {
  const host = await server(
    {
      "PUT /latest/api/token": "secret",
      "GET /latest/meta-data/placement/region": "eu-west-1",
      "GET /latest/meta-data/placement/availability-zone": "eu-west-1b\n",
      "GET /latest/meta-data/instance-id": "i-1",
    },
    { "x-aws-ec2-metadata-token": "secret" },
  );
  const { platform } = await read({ CLOUD_PLATFORM: "AWS" }, host);
  expect(platform).toEqual({
    metadata: { aws_region: "eu-west-1", aws_availability_zone: "eu-west-1b", aws_instance_id: "i-1" },
    locality: { region: "eu-west-1", zone: "eu-west-1b" },
  } satisfies Platform);
  // The first version has no tokens.
  const old = await server({ "GET /latest/meta-data/placement/region": "eu-west-1" });
  expect((await read({ CLOUD_PLATFORM: "aws" }, old)).platform?.locality).toEqual({ region: "eu-west-1" });
});

test("Azure is asked in the newest version that it names", async () => {
  const compute = { name: "vm1", location: "westeurope", vmId: "v-1", zone: "2" };
  const machine = (more: object): string => JSON.stringify({ compute: { ...compute, ...more } });
  const host = await server(
    {
      "GET /metadata/instance": {
        status: 400,
        body: JSON.stringify({ "newest-versions": ["2021-02-01", "2020-09-01"] }),
      },
      "GET /metadata/instance?api-version=2021-02-01": machine({ tagsList: [{ name: "team", value: "a:b" }] }),
    },
    { metadata: "True" },
  );
  const { platform } = await read({ CLOUD_PLATFORM: "azure" }, host);
  expect(platform).toEqual({
    metadata: { azure_name: "vm1", azure_location: "westeurope", azure_vmId: "v-1", azure_team: "a:b" },
    locality: { region: "westeurope", zone: "2" },
  } satisfies Platform);
  const old = await server({ "GET /metadata/instance?api-version=2019-08-15": machine({ tags: "team:a:b;plain" }) });
  expect((await read({ CLOUD_PLATFORM: "azure" }, old)).platform?.metadata).toMatchObject({
    azure_team: "a:b",
    azure_plain: "",
  });
});

test("Google's cloud is asked for the machine, and its zone is that of the resolver", async () => {
  const path = "GET /computeMetadata/v1/";
  const answers = {
    [`${path}project/project-id`]: "shop",
    [`${path}project/numeric-project-id`]: "77",
    [`${path}instance/zone`]: "projects/77/zones/us-central1-f",
    [`${path}instance/name`]: "vm1",
  };
  const host = await server(answers, { "metadata-flavor": "Google" });
  const resolver =
    "nameserver 10.0.0.10\nsearch shop.svc.cluster.local europe-west4-b.c.shop.internal google.internal\n";
  const { platform } = await read({ CLOUD_PLATFORM: "gcp" }, host, resolver);
  expect(platform).toEqual({
    metadata: { gcp_project: "shop", gcp_project_number: "77", gcp_location: "us-central1-f", gcp_gce_instance: "vm1" },
    locality: { region: "europe-west4", zone: "europe-west4-b" },
  } satisfies Platform);
  expect((await read({ CLOUD_PLATFORM: "gcp" }, host)).platform?.locality).toEqual({
    region: "us-central1",
    zone: "us-central1-f",
  });
  const fixed = { GCP_METADATA: "shop|77|main|us-central1", GCP_ZONE: "us-central1-a", GCP_QUOTA_PROJECT: "billing" };
  expect((await read(fixed, "127.0.0.1:9")).platform).toEqual({
    metadata: {
      gcp_project: "shop",
      gcp_project_number: "77",
      gcp_gke_cluster_name: "main",
      gcp_location: "us-central1",
      gcp_quota_project: "billing",
      gcp_zone: "us-central1-a",
      gcp_gke_cluster_url: "https://container.googleapis.com/v1/projects/shop/locations/us-central1/clusters/main",
    },
    locality: { region: "us-central1", zone: "us-central1-a" },
  } satisfies Platform);
});

test("nothing is asked without a setting, and a server that does not answer is said", async () => {
  const host = await server({});
  for (const env of [{}, { CLOUD_PLATFORM: "none" }]) expect((await read(env, host)).platform).toBeUndefined();
  const { platform, messages } = await read({ CLOUD_PLATFORM: "aws" }, host);
  expect(platform).toEqual({ metadata: {}, locality: {} });
  expect(messages()).toContainEqual(expect.stringContaining("CLOUD_PLATFORM=aws: the metadata server does not answer"));
  expect(() => readOptions({}, { CLOUD_PLATFORM: "moon" })).toThrow("CLOUD_PLATFORM");
});

test("the node has the cloud's metadata, and its locality unless a label says otherwise", async () => {
  const host = await server({ "GET /computeMetadata/v1/instance/name": "vm1" });
  const env = { GCP_METADATA: "shop|77|main|us-central1", GCP_ZONE: "us-central1-a", GCE_METADATA_HOST: host };
  const options = readOptions({}, env);
  const { config: proxyConfig, addresses, platform } = await readProxy("sidecar", options);
  const node = (labels: Readonly<Record<string, string>>) =>
    buildNodeMetadata({
      env: {},
      proxyConfig,
      addresses,
      platform,
      podLabels: labels,
      version: "1",
      statusPort: 15021,
      prometheusPort: 15090,
    });
  expect(node({}).metadata["PLATFORM_METADATA"]).toMatchObject({ gcp_project: "shop" });
  expect(node({}).locality).toEqual({ region: "us-central1", zone: "us-central1-a" });
  expect(node({ "topology.istio.io/locality": "mars.north" }).locality).toEqual({ region: "mars", zone: "north" });
});
