import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { mint, type Minted, type MintOptions, uri } from "@istiod/ca/testing";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType } from "@istiod/xds-server";
import { type Address, XdsClient } from "@istiod/xds-server/testing";
import type { Attack } from "../../attack.js";

const istiodUri = "spiffe://cluster.local/ns/istio-system/sa/istiod";

/** Options of a certificate that istiod must not accept. The issuer is istiod's own CA unless `stranger` is set. */
interface Forgery extends MintOptions {
  readonly stranger?: true;
}

/** Certificates for `istio-system/istiod`, by what is wrong with them. */
const forgeries: Readonly<Record<string, Forgery>> = {
  "of another CA": { stranger: true, names: [uri(istiodUri)] },
  "of another trust domain": { names: [uri("spiffe://other.example/ns/istio-system/sa/istiod")] },
  "with two URIs": { names: [uri("spiffe://cluster.local/ns/default/sa/web"), uri(istiodUri)] },
  "with DNS names only": { names: [{ type: "dns", value: "istiod.istio-system.svc" }] },
  "with a relative path": { names: [uri("spiffe://cluster.local/ns/default/../istio-system/sa/istiod")] },
  "with user information": { names: [uri("spiffe://a@cluster.local/ns/istio-system/sa/istiod")] },
  "with percent-encoding": { names: [uri("spiffe://cluster.local/ns/istio%2dsystem/sa/istiod")] },
  "of a CA": { names: [uri(istiodUri)], ca: true },
  "that has expired": { names: [uri(istiodUri)], notAfter: -1000 },
};

/** Forged client certificates for istiod's own identity. */
export const forgedCertificates: Attack = {
  name: "forged-certificates",
  description: "streams with client certificates for istiod's identity that are forged in every way",
  async run({ ports, caDirectory }, scale) {
    const rounds = Math.max(1, Math.round(20 * scale));
    const authority = await readAuthority(caDirectory);
    const stranger = await mint({ ca: true, subject: authority.certificate.subject });
    if (!(await isServed(ports.xds, await mint({ issuer: authority, names: [uri(istiodUri)] }))))
      throw new Error("istiod does not accept a valid certificate of its own CA");
    const accepted = new Set<string>();
    for (const [kind, { stranger: isStranger, ...options }] of Object.entries(forgeries)) {
      const certificate = await mint({ ...options, issuer: isStranger ? stranger : authority });
      for (let round = 0; round < rounds; round++) if (await isServed(ports.xds, certificate)) accepted.add(kind);
    }
    if (accepted.size > 0) throw new Error(`istiod accepts certificates ${[...accepted].join(", ")}`);
    return `${rounds} × ${Object.keys(forgeries).length} streams; none was served`;
  },
};

async function readAuthority(directory: string): Promise<Minted> {
  const [pem, keyPem] = await Promise.all(
    ["ca-cert.pem", "ca-key.pem"].map((name) => readFile(join(directory, name), "utf8")),
  );
  if (pem === undefined || keyPem === undefined) throw new Error(`${directory} has no certificate authority`);
  return { pem, keyPem, certificate: new X509Certificate(pem), key: createPrivateKey(keyPem) };
}

/** Opens a stream that claims to be istiod, and reports whether it is served. */
async function isServed(address: Address, { pem, keyPem }: Minted): Promise<boolean> {
  const node = create(NodeSchema, {
    id: "sidecar~10.9.0.1~istiod.istio-system~istio-system.svc.cluster.local",
    metadata: { NAMESPACE: "istio-system", SERVICE_ACCOUNT: "istiod" } as JsonObject,
  });
  const client = new XdsClient(
    { ...address, tls: { ...address.tls, cert: pem, key: keyPem } },
    { variant: "delta", node },
  );
  try {
    client.subscribe(clusterType);
    return await Promise.race([client.next(clusterType).then(() => true), client.ended.then(() => false)]);
  } catch {
    return false;
  } finally {
    client.close();
  }
}
