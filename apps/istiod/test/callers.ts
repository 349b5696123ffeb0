import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { clusterType } from "@istiod/xds-server";
import { XdsClient } from "@istiod/xds-server/testing";
import { onTestFinished } from "vitest";
import { folder, serve } from "./serving.js";

export type Istiod = Awaited<ReturnType<typeof serve>>;
export type Headers = Readonly<Record<string, string>>;

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** Error of a stream whose caller is not authenticated. */
export const failure = "authentication failure";
/** Error of a request for a certificate whose caller is not authenticated. */
export const unauthenticated = "16 request authenticate failure";
/** Error of a request for a certificate that the caller may not have. */
export const notImpersonated = "16 request impersonation authentication failure";

/** Istiod that reads files and issues certificates. */
export async function istiodWithCa(
  flags: Parameters<typeof serve>[0] = {},
  env: NodeJS.ProcessEnv = {},
): Promise<Istiod> {
  const root = await folder({ "config/none.yaml": "" });
  const all = { configDir: join(root, "config"), caDir: join(root, "ca"), secureGRPCAddr: "127.0.0.1:0", ...flags };
  return serve(all, env);
}

/** Opens a stream, by default over TLS, as `web` of a namespace. Resolves to the result: accepted, or the error. */
export async function stream(
  { addresses }: Istiod,
  headers: Headers,
  namespace = "shop",
  port: "secureGRPCAddr" | "grpcAddr" = "secureGRPCAddr",
): Promise<string> {
  const node = create(NodeSchema, {
    id: `sidecar~10.1.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { NAMESPACE: namespace, SERVICE_ACCOUNT: "web" },
  });
  const tls = port === "secureGRPCAddr" && { tls: { rejectUnauthorized: false } };
  const at = { host: "127.0.0.1", port: addresses[port]?.port ?? 0, ...tls };
  const proxy = new XdsClient(at, { variant: "delta", node, headers });
  onTestFinished(() => proxy.close());
  proxy.subscribe(clusterType);
  const accepted = proxy.accept(clusterType).then(() => "accepted");
  const ended = proxy.ended.then((error) => error?.rawMessage ?? "ended");
  return Promise.race([accepted, ended]).catch((error: unknown) => (error as { rawMessage: string }).rawMessage);
}

/** A signing request for the name of another service account, which does not count. */
const request = signingRequest("spiffe://cluster.local/ns/bank/sa/vault");

/**
 * Requests a certificate, with a CSR for the name of another service account. Resolves to its names, or to the code and
 * message of the error.
 */
export async function certificate({ addresses }: Istiod, headers: Headers, impersonated = ""): Promise<string> {
  const transport = createGrpcTransport({
    baseUrl: `https://127.0.0.1:${addresses["secureGRPCAddr"]?.port ?? 0}`,
    nodeOptions: { rejectUnauthorized: false },
    interceptors: [
      (next) => (call) => {
        for (const [name, value] of Object.entries(headers)) call.header.set(name, value);
        return next(call);
      },
    ],
  });
  const metadata = impersonated === "" ? {} : { ImpersonatedIdentity: impersonated };
  return createClient(IstioCertificateService, transport)
    .createCertificate({ csr: await request, metadata })
    .then(
      ({ certChain: [leaf = ""] }) => new X509Certificate(leaf).subjectAltName ?? "",
      (error: unknown) => `${ConnectError.from(error).code} ${ConnectError.from(error).rawMessage}`,
    );
}

/** The log with the reasons of rejections. */
export function logOf({ lines }: Istiod): string {
  return lines.map((line) => `${line.msg} ${(line as { reason?: string }).reason ?? ""}`).join("\n");
}

async function signingRequest(uri: string): Promise<string> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null"];
  const names = ["-subj", "/O=test", "-addext", `subjectAltName=URI:${uri}`];
  return (await promisify(execFile)("openssl", ["req", "-new", ...key, ...names])).stdout;
}
