import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { Clock } from "@istiod/runtime";
import { IstioCertificateService } from "@istiod/istio-api/security/v1alpha1/ca";
import type { TokenSource } from "../credentials/token-source.js";
import { AgentError } from "../errors.js";
import type { Log } from "../log.js";
import { type KeySettings, generateCsr } from "./csr.js";
import { type ControlPlaneTls, tlsOptions } from "./control-plane-tls.js";
import { readIssuedChain } from "./issued-chain.js";
import type { IssuedCertificate } from "./workload-certificate.js";

export interface CaClientOptions {
  /** `host:port` */
  readonly address: string;
  /** Default: plaintext. */
  readonly tls?: ControlPlaneTls;
  readonly token: TokenSource;
  /** SPIFFE ID in the CSR. */
  readonly identity: string;
  readonly key: KeySettings;
  /** Requested lifetime in milliseconds. */
  readonly lifetime: number;
  readonly clusterId: string;
  readonly certSigner?: string;
  /** Additional request headers (CA_HEADER_…). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout of the request in milliseconds. Default: 10000; with a signer 65000, because istiod gives it 60000. */
  readonly timeout?: number;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Maximum size of a chain with its roots in bytes. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/**
 * Generates a key and requests a certificate for it (`istio.v1.auth.IstioCertificateService`). Each call opens its own
 * connection and rereads roots and token, so that rotated ones apply at once.
 *
 * @throws AgentError `authority` or `file`
 */
export async function requestCertificate(options: CaClientOptions): Promise<IssuedCertificate> {
  const { key, csr } = await generateCsr(options.identity, options.key);
  const token = await options.token.read();
  const url = `${options.tls ? "https" : "http"}://${options.address}`;
  const sessions = new Http2SessionManager(
    url,
    undefined,
    options.tls ? await tlsOptions(options.tls, options.address, options) : undefined,
  );
  const transport = createGrpcTransport({
    baseUrl: url,
    sessionManager: sessions,
    interceptors: [requestHeaders(options, token)],
    readMaxBytes: MAX_RESPONSE_BYTES,
  });
  try {
    const response = await createClient(IstioCertificateService, transport).createCertificate(
      {
        csr,
        validityDuration: BigInt(Math.floor(options.lifetime / 1000)),
        metadata: options.certSigner ? { CertSigner: options.certSigner } : {},
      },
      { timeoutMs: options.timeout ?? (options.certSigner ? 65_000 : 10_000) },
    );
    return readIssuedChain(response.certChain, { key, identity: options.identity });
  } catch (error) {
    throw error instanceof AgentError
      ? error
      : new AgentError("authority", describeFailure(error, options, token), {
          cause: error,
          retryAfter: retryAfter(error),
        });
  } finally {
    sessions.abort();
  }
}

function requestHeaders(options: CaClientOptions, token: string | undefined): Interceptor {
  return (next) => (call) => {
    call.header.set("clusterid", options.clusterId);
    if (token !== undefined) call.header.set("authorization", `Bearer ${token}`);
    for (const [name, value] of Object.entries(options.headers ?? {})) call.header.set(name, value);
    return next(call);
  };
}

/** Returns the delay that an authority with too many requests asks for: gRPC's pushback. */
function retryAfter(error: unknown): number | undefined {
  const pushback = ConnectError.from(error).metadata.get("grpc-retry-pushback-ms");
  return pushback !== null && /^\d{1,9}$/.test(pushback) ? Number(pushback) : undefined;
}

function describeFailure(error: unknown, options: CaClientOptions, token: string | undefined): string {
  const { address } = options;
  const failure = ConnectError.from(error);
  if (failure.code === Code.Unauthenticated) {
    return token === undefined
      ? `certificate authority ${address} rejected the request as unauthenticated: no token in ${options.token.name}`
      : `certificate authority ${address} did not authenticate the token in ${options.token.name}`;
  }
  return `certificate authority ${address}: ${failure.rawMessage}`;
}
