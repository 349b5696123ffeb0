import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { mint, type Minted } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import type { Discovery } from "@istiod/istiod";
import { secretType, type Variant } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, test } from "vitest";
import { client, decoded, folder, serve } from "./serving.js";

const names = [
  "kubernetes://front",
  "kubernetes://other",
  "kubernetes://gone",
  "kubernetes://bank/vault",
  "kubernetes://hidden",
];
const gateway = create(NodeSchema, {
  id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
  metadata: { NAMESPACE: "edge", SERVICE_ACCOUNT: "gw", CLUSTER_ID: "Kubernetes" } as JsonObject,
});

/** Certificates with their keys, by names. */
const pairs = new Map(
  await Promise.all(
    ["k-first", "k-second", "k-other", "k-vault", "k-hidden"].map(async (name) => [name, await mint({})] as const),
  ),
);
const pairOf = (name: string): Minted => pairs.get(name) ?? expect.fail(name);

function secret(name: string, namespace: string, key: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": pairOf(key).pem, "tls.key": pairOf(key).keyPem },
  });
}

const pod = JSON.stringify({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "gw", namespace: "edge", labels: { app: "gw" } },
  spec: { serviceAccountName: "gw" },
  status: { phase: "Running", podIPs: [{ ip: "10.1.0.9" }] },
});

function gatewayFor(...credentialNames: readonly string[]): string {
  const servers = credentialNames.map((credentialName, index) => ({
    port: { number: 443, name: `https-${index}`, protocol: "HTTPS" },
    hosts: [`h${index}.example`],
    tls: { mode: "SIMPLE", credentialName },
  }));
  return JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "front", namespace: "edge" },
    spec: { selector: { app: "gw" }, servers },
  });
}

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function authenticated({ addresses }: Discovery, variant: Variant, token: string, node = gateway): XdsClient {
  const address = {
    host: "127.0.0.1",
    port: addresses["secureGRPCAddr"]?.port ?? 0,
    tls: { rejectUnauthorized: false },
  };
  const found = new XdsClient(address, { variant, node, headers: { authorization: `Bearer ${token}` } });
  ends.push(() => found.close());
  return found;
}

describe.each(["delta", "sotw"] as const)("secrets by %s", (variant) => {
  async function start(): Promise<{ readonly istiod: Awaited<ReturnType<typeof serve>>; readonly root: string }> {
    const root = await folder({
      "config/front.yaml": secret("front", "edge", "k-first"),
      "config/other.yaml": secret("other", "edge", "k-other"),
      "config/vault.yaml": secret("vault", "bank", "k-vault"),
      "config/hidden.yaml": secret("hidden", "edge", "k-hidden"),
      "config/pod.yaml": pod,
      "config/gateway.yaml": gatewayFor("front", "other", "gone"),
      "tokens/edge/gw": "token-of-the-gateway",
      "tokens/edge/web": "token-of-the-web-app",
    });
    const istiod = await serve({
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    });
    return { istiod, root };
  }

  test("an authenticated gateway receives those of its namespace, and after an edit only the changed one", async () => {
    const { istiod, root } = await start();
    const proxy = authenticated(istiod, variant, "token-of-the-gateway");
    proxy.subscribe(secretType, names);
    const first = decoded(SecretSchema, await proxy.accept(secretType));
    expect(first.map(({ name }) => name).sort()).toEqual(["kubernetes://front", "kubernetes://other"]);

    await writeFile(join(root, "front.tmp"), secret("front", "edge", "k-second"));
    await rename(join(root, "front.tmp"), join(root, "config/front.yaml"));
    const [again, ...none] = decoded(SecretSchema, await proxy.accept(secretType));
    expect(none).toEqual([]);
    expect(again?.name).toBe("kubernetes://front");
    const key = again?.type.case === "tlsCertificate" ? again.type.value.privateKey?.specifier.value : undefined;
    expect(Buffer.from(key as Uint8Array).toString()).toBe(pairOf("k-second").keyPem);

    const dump = await (await fetch(`${istiod.http}/debug/config_dump?proxyID=gw.edge`)).text();
    const { dynamicActiveSecrets } =
      (JSON.parse(dump) as { configs: { dynamicActiveSecrets?: { secret: JsonObject }[] }[] }).configs.find(
        (part) => part.dynamicActiveSecrets,
      ) ?? {};
    expect(dynamicActiveSecrets?.[0]?.secret).toMatchObject({
      name: "kubernetes://front",
      tlsCertificate: {
        certificateChain: { inlineBytes: base64(pairOf("k-second").pem) },
        privateKey: { inlineBytes: base64("[redacted]") },
      },
    });
    const seen = dump + JSON.stringify(istiod.lines);
    for (const { keyPem } of pairs.values())
      expect(seen.includes(keyPem.split("\n")[1] ?? "") || seen.includes(base64(keyPem))).toBe(false);
    expect(
      istiod.lines
        .map(({ msg }) => msg)
        .filter((msg) => msg.includes("secret"))
        .sort(),
    ).toEqual([
      "secret not served: Secret edge/gone not found",
      "secret not served: no Gateway or DestinationRule that selects the proxy refers to it",
      "secret not served: the proxy is not in its namespace",
    ]);
  });

  test("are granted at once when a Gateway refers to them, and removed when none does any more", async () => {
    const { istiod, root } = await start();
    const replaceGateway = async (...credentialNames: string[]): Promise<void> => {
      await writeFile(join(root, "gateway.tmp"), gatewayFor(...credentialNames));
      await rename(join(root, "gateway.tmp"), join(root, "config/gateway.yaml"));
    };
    const proxy = authenticated(istiod, variant, "token-of-the-gateway");
    proxy.subscribe(secretType, ["kubernetes://hidden", "kubernetes://front"]);
    const received = async (): Promise<readonly string[]> =>
      decoded(SecretSchema, await proxy.accept(secretType)).map(({ name }) => name);
    expect(await received()).toEqual(["kubernetes://front"]);
    await replaceGateway("front", "hidden");
    expect(await received()).toContain("kubernetes://hidden");
    await replaceGateway("hidden");
    // State-of-the-world responses cannot remove a secret from a stream.
    if (variant === "delta") expect((await proxy.accept(secretType)).removed).toEqual(["kubernetes://front"]);
    const denied = "secret not served: no Gateway or DestinationRule that selects the proxy refers to it";
    await expect
      .poll(() => istiod.lines.filter((line) => line.msg === denied && "secret" in line && line.secret), {
        timeout: 10_000,
      })
      .toHaveLength(2);
    const again = authenticated(istiod, variant, "token-of-the-gateway");
    again.subscribe(secretType, ["kubernetes://hidden", "kubernetes://front"]);
    expect(decoded(SecretSchema, await again.accept(secretType)).map(({ name }) => name)).toEqual([
      "kubernetes://hidden",
    ]);
  });

  test("are denied to another workload of the namespace, whatever type and labels it claims", async () => {
    const { istiod } = await start();
    const web = create(NodeSchema, {
      id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
      metadata: { NAMESPACE: "edge", CLUSTER_ID: "Kubernetes", LABELS: { app: "gw" } } as JsonObject,
    });
    const proxy = authenticated(istiod, variant, "token-of-the-web-app", web);
    proxy.subscribe(secretType, names);
    expect((await proxy.accept(secretType)).resources).toEqual([]);
    expect(istiod.lines.map(({ msg }) => msg)).toContain(
      "secret not served: no Pod or WorkloadEntry of the proxy's namespace is known with its name or address, and its service account",
    );
  });

  test.each([
    [
      "another namespace than its token's",
      { id: "router~10.1.0.9~gw.bank~bank.svc.cluster.local", metadata: { NAMESPACE: "bank", SERVICE_ACCOUNT: "gw" } },
      "token-of-the-gateway",
      Code.PermissionDenied,
    ],
    [
      "another service account",
      {
        id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
        metadata: { NAMESPACE: "edge", SERVICE_ACCOUNT: "other" },
      },
      "token-of-the-gateway",
      Code.PermissionDenied,
    ],
    [
      "a token that nobody has",
      { id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local", metadata: { NAMESPACE: "edge" } },
      "token-of-somebody-else",
      Code.Unauthenticated,
    ],
  ])("a stream on the TLS port ends where the proxy claims %s", async (_, node, token, code) => {
    const { istiod } = await start();
    const proxy = authenticated(istiod, variant, token, create(NodeSchema, node));
    proxy.subscribe(secretType, names);
    expect((await proxy.ended)?.code).toBe(code);
  });

  test("an invalid token is logged at startup with its file", async () => {
    const root = await folder({ "config/front.yaml": secret("front", "edge", "k-first"), "tokens/edge/gw": "short" });
    const istiod = await serve({
      configDir: join(root, "config"),
      caDir: join(root, "ca"),
      tokensDir: join(root, "tokens"),
      secureGRPCAddr: "127.0.0.1:0",
    });
    expect(istiod.lines).toContainEqual(
      expect.objectContaining({
        level: "error",
        file: join(root, "tokens/edge/gw"),
        msg: `--tokensDir: ${join(root, "tokens/edge/gw")} holds a token of 5 characters, expected at least 16`,
      }),
    );
  });

  test("are not served on the plaintext port", async () => {
    const { istiod } = await start();
    const proxy = client(istiod, variant, gateway);
    proxy.subscribe(secretType, names);
    expect((await proxy.accept(secretType)).resources).toEqual([]);
    expect(istiod.lines.some(({ msg }) => msg.includes("secret not served: the proxy is not authenticated"))).toBe(
      true,
    );
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
