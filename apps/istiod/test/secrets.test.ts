import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import type { Discovery } from "@istiod/istiod";
import { secretType, type Variant } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { afterEach, describe, expect, test } from "vitest";
import { client, decoded, folder, serve } from "./serving.js";

const names = ["kubernetes://front", "kubernetes://other", "kubernetes://gone", "kubernetes://bank/vault"];
const gateway = create(NodeSchema, {
  id: "router~10.1.0.9~gw.edge~edge.svc.cluster.local",
  metadata: { NAMESPACE: "edge", SERVICE_ACCOUNT: "gw", CLUSTER_ID: "Kubernetes" } as JsonObject,
});

function secret(name: string, namespace: string, key: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": `chain of ${name}`, "tls.key": key },
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
      "tokens/edge/gw": "token-of-the-gateway",
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
    expect(Buffer.from(key as Uint8Array).toString()).toBe("k-second");

    const dump = await (await fetch(`${istiod.http}/debug/config_dump?proxyID=gw.edge`)).text();
    const { dynamicActiveSecrets } =
      (JSON.parse(dump) as { configs: { dynamicActiveSecrets?: { secret: JsonObject }[] }[] }).configs.find(
        (part) => part.dynamicActiveSecrets,
      ) ?? {};
    expect(dynamicActiveSecrets?.[0]?.secret).toMatchObject({
      name: "kubernetes://front",
      tlsCertificate: {
        certificateChain: { inlineBytes: base64("chain of front") },
        privateKey: { inlineBytes: base64("[redacted]") },
      },
    });
    const seen = dump + JSON.stringify(istiod.lines);
    for (const value of ["k-first", "k-second", "k-other", "k-vault"])
      expect(seen.includes(value) || seen.includes(base64(value))).toBe(false);
    expect(
      istiod.lines
        .map(({ msg }) => msg)
        .filter((msg) => msg.includes("secret"))
        .sort(),
    ).toEqual([
      "secret not served: Secret edge/gone not found",
      "secret not served: the proxy is not in namespace bank",
    ]);
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
