import "reflect-metadata";
import { webcrypto, X509Certificate } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CertificateAuthority, DirectoryRootStore, keepRoot, selfSignedBundle, spiffeUri } from "@istiod/ca";
import * as x509 from "@peculiar/x509";

// The authority. A second start with the same directory continues with the same root.
const directory = await mkdtemp(join(tmpdir(), "ca-"));
const root = await keepRoot(new DirectoryRootStore(directory), { organization: "example.org" }, Date.now());
const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, directory, Date.now()) });

// The workload makes a key of its own, and asks for a certificate for it.
const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const keys = await webcrypto.subtle.generateKey(ecdsa, true, ["sign", "verify"]);
const request = await x509.Pkcs10CertificateRequestGenerator.create({ keys, signingAlgorithm: ecdsa });

// The identity comes from whoever authenticated the workload, never from the request.
const identity = spiffeUri({ trustDomain: "example.org", namespace: "shop", serviceAccount: "cart" });
const signed = await authority.sign({ request: request.toString("pem"), names: [identity], lifetime: 3600 * 1000 });

const leaf = new X509Certificate(signed.certificate);
console.log(leaf.subjectAltName);
console.log(`valid for ${Math.round((Date.parse(leaf.validTo) - Date.now()) / 60_000)} minutes`);
console.log(`signed by the root: ${leaf.verify(new X509Certificate(signed.roots).publicKey)}`);
