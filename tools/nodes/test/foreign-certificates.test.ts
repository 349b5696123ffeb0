import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findEnvoy } from "@istiod/envoy-binary";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installIstiod, waitForDeployment } from "../src/sample/install-bookinfo.js";
import { ObjectApplier } from "../src/sample/apply-objects.js";
import { patience as usual, unavailable as noNodes, useRig } from "./rig.js";

const run = promisify(execFile);
const noEnvoy = (await findEnvoy()) === undefined ? "there is no Envoy: npm run envoy:install" : undefined;
const programs = ["apps/istiod/bundle/main", "apps/pilot-agent/bundle/main", "tools/nodes/dist/programs/signer"];
const isBuilt = programs.every((program) => existsSync(new URL(`../../../${program}.js`, import.meta.url)));
const unavailable = noNodes ?? noEnvoy ?? (isBuilt ? undefined : "there are no bundles: npm run build");
const patience = { ...usual, timeout: 300_000 };

const holder = useRig();
const directories: string[] = [];
afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true }))));

/** A CA of openssl, as an operator has one outside of the mesh. */
class OutsideCa {
  private constructor(
    readonly directory: string,
    readonly cert: string,
    readonly key: string,
  ) {}

  static async create(name: string): Promise<OutsideCa> {
    const directory = await mkdtemp(join(tmpdir(), "outside-"));
    directories.push(directory);
    const [key, cert] = [join(directory, "ca.key"), join(directory, "ca.crt")];
    await run("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...["-subj", `/CN=${name}`, "-keyout", key, "-out", cert],
    ]);
    return new OutsideCa(directory, await readFile(cert, "utf8"), await readFile(key, "utf8"));
  }

  /** Returns the Secret of a server's certificate, with the roots as cert-manager writes them. */
  async issue(secret: string, namespace: string, dnsName: string) {
    const path = (file: string): string => join(this.directory, file);
    await writeFile(path("ext"), `subjectAltName=DNS:${dnsName}\nextendedKeyUsage=serverAuth,clientAuth\n`);
    await run("openssl", [
      ...["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/O=outside"],
      ...["-keyout", path("key"), "-out", path("csr")],
    ]);
    await run("openssl", [
      ...["x509", "-req", "-in", path("csr"), "-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-days", "1"],
      ...["-CAcreateserial", "-extfile", path("ext"), "-out", path("crt")],
    ]);
    const [cert, key] = [await readFile(path("crt"), "utf8"), await readFile(path("key"), "utf8")];
    const stringData: Record<string, string> = { "tls.crt": cert, "tls.key": key, "ca.crt": this.cert };
    return { apiVersion: "v1", kind: "Secret", metadata: { name: secret, namespace }, stringData };
  }
}

const istiodName = "istiod.istio-system.svc";
const object = (kind: string, name: string, namespace: string, rest: object, apiVersion = "v1") => ({
  ...{ apiVersion, kind, metadata: { name, namespace } },
  ...rest,
});
const apply = (objects: Parameters<ObjectApplier["apply"]>[0]) => new ObjectApplier(holder.rig.client).apply(objects);
const namespace = (name: string, labels: object = {}) => ({
  ...{ apiVersion: "v1", kind: "Namespace" },
  metadata: { name, labels },
});
const roots = (pem: string, where: string) =>
  object("ConfigMap", "istio-ca-root-cert", where, { data: { "root-cert.pem": pem } });
const rootsIn = async (where: string) =>
  (await holder.rig.get<{ data: object }>(`/api/v1/namespaces/${where}/configmaps/istio-ca-root-cert`)).data;
const failureOf = (path: string) =>
  holder.rig.get(path).then(
    () => "found",
    (error: unknown) => String(error),
  );

/** Creates what signs for Pods in the place of istiod: the image `signer`, with the CA. */
async function startSigner(ca: OutsideCa): Promise<void> {
  const { stringData, ...secret } = await ca.issue("signer", "signer", "signer.signer.svc");
  const pod = {
    serviceAccountName: "signer",
    terminationGracePeriodSeconds: 1,
    volumes: [{ name: "ca", secret: { secretName: "signer" } }],
    containers: [
      {
        ...{ name: "signer", image: "signer", args: ["/etc/signer"] },
        readinessProbe: { tcpSocket: { port: 6443 }, periodSeconds: 1, timeoutSeconds: 10 },
        volumeMounts: [{ name: "ca", mountPath: "/etc/signer", readOnly: true }],
      },
    ],
  };
  const labels = { app: "signer" };
  await apply([
    namespace("signer"),
    object("ServiceAccount", "signer", "signer", {}),
    {
      ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "signer" } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:auth-delegator" },
      subjects: [{ kind: "ServiceAccount", name: "signer", namespace: "signer" }],
    } as never,
    { ...secret, stringData: { ...stringData, "ca.key": ca.key } } as never,
    object("Service", "signer", "signer", { spec: { selector: labels, ports: [{ port: 443, targetPort: 6443 }] } }),
    object(
      ...(["Deployment", "signer", "signer"] as const),
      { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } } },
      "apps/v1",
    ),
  ]);
  await waitForDeployment(holder.rig.client, "signer", "signer");
}

/** Creates two Pods with sidecars, of which `web` calls `cart`, and returns the last answer in its log. */
async function createPods(where: string): Promise<() => Promise<string | undefined>> {
  const script = "while :; do curl -sS -m 9 http://cart/ | tr -d '\\n'; echo; sleep 0.3; done";
  const pod = (app: string, container: object) => ({
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: app, namespace: where, labels: { app } } },
    spec: {
      ...{ serviceAccountName: app, terminationGracePeriodSeconds: 1 },
      containers: [{ name: app, ...container }],
    },
  });
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  const strict = { spec: { mtls: { mode: "STRICT" } } };
  await apply([
    namespace(where, { "istio-injection": "enabled" }),
    object("ServiceAccount", "web", where, {}),
    object("ServiceAccount", "cart", where, {}),
    object("Service", "cart", where, { spec: { selector: { app: "cart" }, ports } }),
    object("PeerAuthentication", "strict", where, strict, "security.istio.io/v1"),
  ]);
  const pods = [pod("cart", { image: "echo" }), pod("web", { image: "curl", command: ["sh", "-c", script] })];
  // Until the API server has the roots of this istiod, it rejects Pods.
  for (const each of pods)
    await expect
      .poll(() => apply([each]).then(String, (error: unknown) => (error as Error).message), patience)
      .toBe("undefined");
  return async () => (await holder.rig.logs("web", "web", where).catch(() => "")).trimEnd().split("\n").at(-1);
}

/** An answer of the image `echo` to `web` over mutual TLS. */
const delivered = (where: string) =>
  expect.stringMatching(
    `By=spiffe://cluster.local/ns/${where}/sa/cart;.*URI=spiffe://cluster.local/ns/${where}/sa/web`,
  );

beforeAll(async () => {
  if (unavailable === undefined) await apply([namespace("istio-system")]);
}, 200_000);

test("with the certificates of istio-csr and ENABLE_CA_SERVER=false, Pods have theirs from the CA outside", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  const ca = await OutsideCa.create("istio-csr");
  await startSigner(ca);
  const where = "csr-shop";
  await apply([
    namespace(where, { "istio-injection": "enabled" }),
    await ca.issue("istiod-tls", "istio-system", istiodName),
    ...["istio-system", where].map((each) => roots(ca.cert, each)),
  ]);
  const global = { caAddress: "signer.signer.svc:443" };
  await installIstiod(rig.client, { istiodValues: { replicaCount: 1, global, env: { ENABLE_CA_SERVER: "false" } } });
  const lastAnswer = await createPods(where);
  await expect.poll(lastAnswer, patience).toEqual(delivered(where));

  const [signer] = (
    await rig.client.json<{ items: { metadata: { name: string } }[] }>({ path: "/api/v1/namespaces/signer/pods" })
  ).items;
  const signed = await rig.logs(signer?.metadata.name ?? "", "signer", "signer");
  for (const account of ["web", "cart"])
    expect(signed).toContain(`signed spiffe://cluster.local/ns/${where}/sa/${account}`);
  expect(await rootsIn(where)).toEqual({ "root-cert.pem": ca.cert });
  for (const path of ["default/configmaps/istio-ca-root-cert", "istio-system/secrets/istio-ca-secret"])
    expect(await failureOf(`/api/v1/namespaces/${path}`)).toContain("not found");
}, 800_000);

test("with --tlsCertFile and --caCertFile of another CA, Pods connect by the distributed roots", async (context) => {
  context.skip(unavailable !== undefined, unavailable);
  const { rig } = holder;
  await rig.remove("/apis/apps/v1/namespaces/istio-system/deployments/istiod").catch(() => undefined);
  await rig.remove("/api/v1/namespaces/istio-system/secrets/istiod-tls").catch(() => undefined);
  const istiods = async () =>
    (await rig.client.json<{ items: object[] }>({ path: "/api/v1/namespaces/istio-system/pods" })).items.length;
  await expect.poll(istiods, patience).toBe(0);

  const ca = await OutsideCa.create("operator");
  await apply([await ca.issue("operator", "istio-system", istiodName)]);
  const istiodValues = {
    replicaCount: 1,
    volumes: [{ name: "operator", secret: { secretName: "operator" } }],
    volumeMounts: [{ name: "operator", mountPath: "/etc/operator", readOnly: true }],
    extraContainerArgs: ["tlsCertFile=tls.crt", "tlsKeyFile=tls.key", "caCertFile=ca.crt"].map(
      (flag) => `--${flag.replace("=", "=/etc/operator/")}`,
    ),
  };
  await installIstiod(rig.client, { istiodValues });
  const where = "operator-shop";
  const lastAnswer = await createPods(where);
  await expect.poll(lastAnswer, patience).toEqual(delivered(where));
  const distributed = Object.values(await rootsIn(where)).join("");
  expect(distributed).toContain(ca.cert.trim());
  expect(distributed.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
}, 800_000);
