import { createPublicKey } from "node:crypto";
import { type ApiClient, Reflector, type ResourceType, resourcePath } from "@istiod/kubernetes";
import { Pkcs10CertificateRequest, SubjectAlternativeNameExtension } from "../x509.js";
import { mint, type Minted, type MintOptions } from "./minting.js";

const requests: ResourceType = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  namespaced: false,
};

/** A CertificateSigningRequest as a signer sees it. */
export interface ReceivedRequest {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec: {
    readonly request: string;
    readonly signerName: string;
    readonly usages: readonly string[];
    readonly expirationSeconds?: number;
  };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

export interface TestSignerOptions {
  readonly client: ApiClient;
  readonly signerName: string;
  /** Returns the PEM to put into the request; undefined to leave it unsigned. */
  readonly sign: (request: ReceivedRequest) => Promise<string | undefined>;
}

/** A Kubernetes signer: answers approved requests. */
export interface TestSigner {
  /** The requests that it signed or left unsigned, in order. */
  readonly received: readonly ReceivedRequest[];
  stop(): void;
}

/** Starts a signer in a cluster. */
export function startTestSigner({ client, signerName, sign }: TestSignerOptions): TestSigner {
  const received: ReceivedRequest[] = [];
  const seen = new Set<string>();
  const consider = async (object: ReceivedRequest): Promise<void> => {
    const { metadata, spec, status } = object;
    const isApproved = status?.conditions?.some(({ type }) => type === "Approved") === true;
    if (spec.signerName !== signerName || !isApproved || status.certificate !== undefined || seen.has(metadata.name))
      return;
    seen.add(metadata.name);
    received.push(object);
    const pem = await sign(object);
    if (pem === undefined) return;
    const certificate = Buffer.from(pem).toString("base64");
    const body = JSON.stringify({
      apiVersion: "certificates.k8s.io/v1",
      kind: requests.kind,
      ...object,
      status: { ...status, certificate },
    });
    const path = resourcePath(requests, { name: metadata.name, subresource: "status" });
    await client.json<unknown>({ method: "PUT", path, body });
  };
  const reflector = new Reflector<ReceivedRequest>({
    client,
    resource: requests,
    fields: { fields: true },
    handler: {
      events: (events) => {
        for (const event of events) if (event.type === "set") void consider(event.object).catch(() => undefined);
      },
      state: () => undefined,
    },
  });
  reflector.start();
  return { received, stop: () => reflector.stop() };
}

/** Returns the certificate that a request asks for, in PEM: its key and its names, signed by `issuer`. */
export async function certify(
  { spec: { request } }: ReceivedRequest,
  issuer: Minted,
  options: Partial<MintOptions> = {},
): Promise<string> {
  const parsed = new Pkcs10CertificateRequest(Buffer.from(request, "base64").toString("utf8"));
  const names = parsed.extensions.find((each) => each instanceof SubjectAlternativeNameExtension)?.names.items ?? [];
  const publicKey = createPublicKey({ key: Buffer.from(parsed.publicKey.rawData), type: "spki", format: "der" });
  const { pem } = await mint({
    issuer,
    publicKey,
    names: names.map(({ type, value }) => ({ type, value })),
    extendedKeyUsages: ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"],
    ...options,
  });
  return pem;
}
