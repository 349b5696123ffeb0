import { X509Certificate, createPrivateKey } from "node:crypto";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import { AgentError, reasonOf } from "../errors.js";
import { type KeySettings, generateCsr } from "./csr.js";
import { type ControlPlaneTls, tlsOptions } from "./control-plane-tls.js";
import { readToken } from "./token.js";
import type { IssuedCertificate } from "./workload-certificate.js";

export interface CaClientOptions {
  /** `host:port` */
  readonly address: string;
  /** Absent: no TLS. */
  readonly tls?: ControlPlaneTls;
  readonly tokenFile: string;
  /** SPIFFE URI that the request names. */
  readonly identity: string;
  readonly key: KeySettings;
  /** Lifetime asked for, in milliseconds. */
  readonly lifetime: number;
  readonly clusterId: string;
  readonly certSigner?: string;
  /** More request headers (CA_HEADER_…). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds to wait for an answer. Default: 10000. */
  readonly timeout?: number;
}

/**
 * Makes a key and has istiod certify it; each call is a connection of its own, so that new roots and tokens count at
 * once. @throws AgentError `authority` or `file`
 */
export async function requestCertificate(options: CaClientOptions): Promise<IssuedCertificate> {
  const { key, request } = await generateCsr(options.identity, options.key);
  const token = await readToken(options.tokenFile);
  const url = `${options.tls ? "https" : "http"}://${options.address}`;
  const sessions = new Http2SessionManager(
    url,
    undefined,
    options.tls ? await tlsOptions(options.tls, options.address) : undefined,
  );
  const transport = createGrpcTransport({
    baseUrl: url,
    sessionManager: sessions,
    interceptors: [metadata(options, token)],
  });
  try {
    const response = await createClient(IstioCertificateService, transport).createCertificate(
      {
        csr: request,
        validityDuration: BigInt(Math.floor(options.lifetime / 1000)),
        metadata: options.certSigner ? { CertSigner: options.certSigner } : {},
      },
      { timeoutMs: options.timeout ?? 10_000 },
    );
    return readChain(response.certChain, key);
  } catch (error) {
    throw error instanceof AgentError
      ? error
      : new AgentError("authority", explain(error, options, token), { cause: error });
  } finally {
    sessions.abort();
  }
}

function metadata(options: CaClientOptions, token: string | undefined): Interceptor {
  return (next) => (call) => {
    call.header.set("clusterid", options.clusterId);
    if (token !== undefined) call.header.set("authorization", `Bearer ${token}`);
    for (const [name, value] of Object.entries(options.headers ?? {})) call.header.set(name, value);
    return next(call);
  };
}

/** The authority answers with the leaf first and the roots last; one element each. */
function readChain(certChain: readonly string[], key: string): IssuedCertificate {
  const roots = certChain.at(-1);
  if (certChain.length < 2 || roots === undefined)
    throw new AgentError("authority", "certificate authority: its answer holds no certificate chain");
  const chain = certChain
    .slice(0, -1)
    .map((pem) => (pem.endsWith("\n") ? pem : `${pem}\n`))
    .join("");
  try {
    const leaf = new X509Certificate(chain);
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error("it is for another key");
    return { key, chain, roots, notAfter: Date.parse(leaf.validTo) };
  } catch (error) {
    throw new AgentError("authority", `certificate authority: its certificate cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function explain(error: unknown, { address, tokenFile }: CaClientOptions, token: string | undefined): string {
  const failure = ConnectError.from(error);
  if (failure.code === Code.Unauthenticated) {
    return token === undefined
      ? `certificate authority ${address} does not know this workload: there is no token in ${tokenFile}`
      : `certificate authority ${address} does not accept the token in ${tokenFile}`;
  }
  return `certificate authority ${address}: ${failure.rawMessage}`;
}
