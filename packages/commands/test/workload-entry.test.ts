import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workloadCommand } from "@istiod/commands";
import { istioTypes } from "@istiod/commands/testing";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { clusterWith, type CommandCluster, type Run, sharedCluster } from "./cluster-run.js";

const meshConfig = `
trustDomain: mesh.example
defaultConfig:
  discoveryAddress: istiod.istio-system.svc:15012
  meshId: mesh1
  proxyMetadata: {ISTIO_META_DNS_CAPTURE: "false", FROM_MESH: mesh, FROM_GROUP: mesh}
`;

const group = `
apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata:
  name: web
  namespace: shop
  annotations: {proxy.istio.io/config: "drainDuration: 30s"}
spec:
  metadata:
    labels: {app: web-app, version: v2}
    annotations: {proxy.istio.io/config: "proxyMetadata: {FROM_GROUP: it's}"}
  template: {ports: {http: 8080, admin: 90}, serviceAccount: web, network: vm}
  probe: {httpGet: {port: 8080}}
`;

const configMap = (namespace: string, name: string, data: object): string =>
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data });

const revised = (suffix: string, mesh: string, clusterName: string): string =>
  [
    configMap("istio-system", `istio${suffix}`, { mesh }),
    configMap("istio-system", `istio-sidecar-injector${suffix}`, {
      values: JSON.stringify({ global: { multiCluster: { clusterName } } }),
    }),
  ].join("\n---\n");

const objects = (...more: readonly string[]): string =>
  [
    ...["istio-system", "shop"].map((name) => `{apiVersion: v1, kind: Namespace, metadata: {name: ${name}}}`),
    "{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}",
    configMap("shop", "istio-ca-root-cert", { "root-cert.pem": "ROOT\n" }),
    revised("", meshConfig, "east"),
    revised("-canary", "{}", ""),
    ...more,
  ].join("\n---\n");

const cluster = (...more: readonly string[]): Promise<CommandCluster> =>
  clusterWith(objects(...more), { types: istioTypes });

async function folder(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "istiod-workload-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

interface Configured extends Run {
  /** Text of a written file. */
  file(name: string): Promise<string>;
  readonly directory: string;
}

async function configure({ run }: CommandCluster, ...args: readonly string[]): Promise<Configured> {
  const directory = join(await folder(), "config");
  const result = await run(workloadCommand, "entry", "configure", "-o", directory, ...args);
  return { ...result, directory, file: (name) => readFile(join(directory, name), "utf8") };
}

async function groupFile(text: string): Promise<string> {
  const file = join(await folder(), "group.yaml");
  await writeFile(file, text);
  return file;
}

test("the files of a machine carry the mesh's and the group's settings, and a token of the service account", async () => {
  const mesh = await cluster(
    group,
    `{apiVersion: v1, kind: Service, metadata: {name: istio-eastwestgateway, namespace: istio-system},
      spec: {ports: [{port: 15012}]}, status: {loadBalancer: {ingress: [{hostname: gw.example}, {ip: 192.0.2.7}]}}}`,
  );
  const { out, warnings, file, directory } = await configure(
    mesh,
    ...["--name", "web", "--namespace", "shop", "--autoregister", "--internalIP", "10.0.0.9"],
  );
  expect(out).toBe(`Configuration generation into directory ${directory} was successful\n`);
  expect(warnings).toBe(`Warning: a token of service account shop/web is in ${join(directory, "istio-token")}\n`);
  const metadata = {
    CANONICAL_SERVICE: "web-app",
    CANONICAL_REVISION: "v2",
    FROM_MESH: "mesh",
    FROM_GROUP: "it's",
    POD_NAMESPACE: "shop",
    SERVICE_ACCOUNT: "web",
    TRUST_DOMAIN: "mesh.example",
    ISTIO_META_AUTO_REGISTER_GROUP: "web",
    ISTIO_META_CLUSTER_ID: "east",
    ISTIO_META_DNS_CAPTURE: "true",
    ISTIO_META_MESH_ID: "mesh1",
    ISTIO_META_NETWORK: "vm",
    ISTIO_META_POD_PORTS: '[{"name":"admin","containerPort":90},{"name":"http","containerPort":8080}]',
    ISTIO_META_WORKLOAD_NAME: "web",
    ISTIO_METAJSON_LABELS:
      '{"app":"web-app","service.istio.io/canonical-name":"web-app","service.istio.io/canonical-revision":"v2","version":"v2"}',
  };
  expect(parse(await file("mesh.yaml"))).toEqual({
    defaultConfig: {
      discoveryAddress: "istiod.istio-system.svc:15012",
      drainDuration: "30s",
      meshId: "mesh1",
      proxyMetadata: metadata,
      readinessProbe: { httpGet: { port: 8080 } },
    },
  });
  const lines = (await file("cluster.env")).trimEnd().split("\n");
  expect(lines).toEqual([...lines].sort());
  const variables = {
    ...metadata,
    FROM_GROUP: `it'"'"'s`,
    ISTIO_INBOUND_PORTS: "90,8080",
    ISTIO_LOCAL_EXCLUDE_PORTS: "22,15090,15021,15020",
    ISTIO_NAMESPACE: "shop",
    ISTIO_SERVICE: "web.shop",
    ISTIO_SERVICE_CIDR: "*",
    ISTIO_SVC_IP: "10.0.0.9",
  };
  expect(lines).toEqual(
    Object.entries(variables)
      .map(([name, value]) => `${name}='${value}'`)
      .sort(),
  );
  expect(await file("hosts")).toBe("192.0.2.7 istiod.istio-system.svc\n");
  expect(await file("root-cert.pem")).toBe("ROOT\n");
  const claims = JSON.parse(Buffer.from((await file("istio-token")).split(".")[1] ?? "", "base64url").toString()) as {
    readonly aud: unknown;
    readonly sub: string;
    readonly exp: number;
    readonly iat: number;
  };
  expect(claims).toMatchObject({ aud: ["istio-ca"], sub: "system:serviceaccount:shop:web" });
  expect(claims.exp - claims.iat).toBe(3600);
  expect((await stat(join(directory, "istio-token"))).mode & 0o777).toBe(0o600);
});

test("a group of a file, another revision, and flags", async () => {
  const mesh = await cluster();
  const file = await groupFile(`
apiVersion: networking.istio.io/v1beta1
kind: WorkloadGroup
metadata: {name: db, namespace: shop}
spec: {template: {labels: {app: db}, weight: 3}}
`);
  const run = await configure(
    mesh,
    ...["-f", file, "--revision", "canary", "--externalIP", "203.0.113.4", "--ingressIP", "2001:db8::7"],
    ...["--capture-dns=false", "--tokenDuration", "600"],
  );
  expect(run.warnings).toContain(
    "Warning: WorkloadGroup shop/db: spec.template.labels override those of spec.metadata.labels, where labels belong: app\n",
  );
  expect(parse(await run.file("mesh.yaml"))).toEqual({
    defaultConfig: {
      discoveryAddress: "istiod-canary.istio-system.svc:15012",
      proxyMetadata: {
        CANONICAL_SERVICE: "db",
        CANONICAL_REVISION: "latest",
        POD_NAMESPACE: "shop",
        SERVICE_ACCOUNT: "default",
        TRUST_DOMAIN: "",
        ISTIO_META_CLUSTER_ID: "Kubernetes",
        ISTIO_META_MESH_ID: "",
        ISTIO_META_NETWORK: "",
        ISTIO_META_WORKLOAD_NAME: "db",
        ISTIO_METAJSON_LABELS:
          '{"app":"db","service.istio.io/canonical-name":"db","service.istio.io/canonical-revision":"latest"}',
      },
    },
  });
  const environment = await run.file("cluster.env");
  for (const line of [
    "CA_ADDR='istiod-canary.istio-system.svc:15012'",
    "ISTIO_INBOUND_PORTS='*'",
    "ISTIO_SVC_IP='203.0.113.4'",
    "REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION='true'",
  ])
    expect(environment.split("\n")).toContain(line);
  expect(await run.file("hosts")).toBe("2001:db8::7 istiod-canary.istio-system.svc\n");
});

test("an unknown address of istiod is a warning", async () => {
  const { warnings, file } = await configure(await cluster(group), "--name", "web", "-n", "shop");
  expect(warnings).toContain(
    "Warning: hosts is empty, because Service istio-system/istio-eastwestgateway does not exist; --ingressIP gives the address by which the machine reaches istiod.istio-system.svc\n",
  );
  expect(await file("hosts")).toBe("");
});

const faulty = sharedCluster(
  objects(
    group,
    "{apiVersion: v1, kind: Namespace, metadata: {name: bare}}",
    group.replace("namespace: shop", "namespace: bare"),
    group.replace("name: web", "name: broken").replace("proxyMetadata: {FROM_GROUP: it's}", "proxyMetadata: 7"),
    group.replace("name: web", "name: absent").replace("serviceAccount: web", "serviceAccount: absent"),
  ),
  { types: istioTypes },
);

const inShop = ["--name", "web", "-n", "shop"];

test.each([
  [[], "expected --file, or --name and --namespace of a WorkloadGroup in the cluster"],
  [["--name", "mail", "-n", "shop"], "WorkloadGroup shop/mail: does not exist"],
  [["--file", "/nonexistent"], "--file /nonexistent: "],
  [[...inShop, "--internalIP", "10.0.0.1", "--externalIP", "10.0.0.2"], "'--externalIP <ip>' cannot be used with"],
  [[...inShop, "--ingressIP", "gw.example"], "expected an IP address"],
  [[...inShop, "--tokenDuration", "60"], "expected a number of seconds, at least 600"],
  [[...inShop, "--capture-dns=maybe"], "expected true or false"],
  [[...inShop, "--revision", "old"], "ConfigMap istio-system/istio-old: does not exist"],
  [["--name", "broken", "-n", "shop"], "WorkloadGroup broken: spec.metadata.annotations[proxy.istio.io/config]: "],
  [["--name", "absent", "-n", "shop"], "token of service account shop/absent: "],
  [["--name", "web", "-n", "bare"], "ConfigMap bare/istio-ca-root-cert: does not exist"],
])("istiod workload entry configure %j is rejected", async (args, message) => {
  await expect(configure(faulty(), ...args)).rejects.toThrow(message);
});

test("a file with a mistake, another namespace or no group is rejected", async () => {
  const mesh = await cluster();
  await expect(configure(mesh, "-f", await groupFile(group.replace("8080, admin: 90", "http")))).rejects.toThrow(
    "template.ports.http",
  );
  await expect(configure(mesh, "-f", await groupFile(group), "-n", "mail")).rejects.toThrow("has the namespace shop");
  await expect(
    configure(mesh, "-f", await groupFile("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")),
  ).rejects.toThrow("expected one WorkloadGroup, found 0");
});
