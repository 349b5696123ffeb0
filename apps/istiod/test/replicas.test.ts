import { join } from "node:path";
import { connect, type DetailedPeerCertificate } from "node:tls";
import { X509Certificate } from "node:crypto";
import { startApiServer } from "@istiod/kubernetes/testing";
import { expect, onTestFinished, test } from "vitest";
import { folder, serve } from "./serving.js";

const secret = { apiVersion: "v1", kind: "Secret", namespace: "istio-system", name: "istio-ca-secret" };

/** Returns the root certificate of the chain that a TLS server presents, in base64. */
function rootOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] }, () => {
      let certificate: DetailedPeerCertificate = socket.getPeerCertificate(true);
      while (certificate.issuerCertificate !== certificate && certificate.issuerCertificate !== undefined)
        certificate = certificate.issuerCertificate;
      socket.destroy();
      resolve(certificate.raw.toString("base64"));
    });
    socket.on("error", reject);
  });
}

test("five replicas that start at once share the root of the first", async () => {
  const server = await startApiServer({ namespaces: ["istio-system"] });
  onTestFinished(() => server.stop());
  const kubeconfig = join(await folder({ kubeconfig: server.kubeconfig.yaml }), "kubeconfig");
  const replicas = await Promise.all(
    Array.from({ length: 5 }, () => serve({ kubeconfig, secureGRPCAddr: "127.0.0.1:0" })),
  );
  const stored = server.objects.get(secret);
  const { data } = stored as unknown as { readonly data: Readonly<Record<string, string>> };
  const root = new X509Certificate(Buffer.from(data["ca-cert.pem"] ?? "", "base64")).raw.toString("base64");
  const served = await Promise.all(replicas.map(({ addresses }) => rootOf(addresses["secureGRPCAddr"]?.port ?? 0)));
  expect(served).toEqual(Array.from({ length: 5 }, () => root));
}, 120_000);
