/** Categories of CPU time. */
export const categories = [
  "generation",
  "encoding",
  "xDS protocol",
  "HTTP/2",
  "TLS",
  "sockets",
  "garbage collection",
  "compiling",
  "files",
  "other",
] as const;
export type Category = (typeof categories)[number];

/** Patterns of frames. The first match decides the category of a frame. */
const patterns: readonly (readonly [RegExp, Category])[] = [
  [
    /v8::internal::.*(Heap::|Scaveng|MarkCompact|Marking|Sweep|Evacuat|Evacuator|GCTracer|Collect(All)?Garbage|Marker|ConcurrentMark|ArrayBufferSweeper|YoungGeneration|LocalHeap|PagedSpace|NewSpace)/,
    "garbage collection",
  ],
  [
    /v8::internal::.*(Compil|Turbo|compiler::|baseline::|maglev|Parser|Parsing|Preparse|Scanner|Deoptimiz|OptimizingCompile)|v8::internal::compiler/,
    "compiling",
  ],
  [
    /\b(SSL_|ssl3_|tls_|tls1_|tls13_|EVP_|CRYPTO_|BIO_|bio_|aes|aesni|gcm|ossl_|RSA_|EC_|ecp_|sha\d|poly1305|chacha)|openssl|node::crypto|TLSWrap/i,
    "TLS",
  ],
  [/nghttp2|node::http2|internal\/http2|grpc-call|transport\/grpc/, "HTTP/2"],
  [/packages\/xds-server\/dist\/wire\//, "encoding"],
  [/packages\/xds-server\/|packages\/push-report\/|packages\/(mesh-log|prometheus)\//, "xDS protocol"],
  [
    /packages\/(xds-generators|push-context|incremental|resources|service-discovery|explain|mesh-source|envoy-api|istio-api)\/|@bufbuild\/protobuf/,
    "generation",
  ],
  [/packages\/config-ingestion\/|node_modules\/yaml\/|internal\/fs|uv_fs|uv__fs|inotify/, "files"],
  [
    /uv__(write|read|stream|try_write)|LibuvStream|StreamBase|internal\/stream_base|node:net|tcp_|sock_|__sys_send|__sys_recv|writev|sendmsg|do_iter_readv_writev|inet_/,
    "sockets",
  ],
];

const known = new Map<string, Category | undefined>();

function categoryOfFrame(frame: string): Category | undefined {
  if (!known.has(frame)) known.set(frame, patterns.find(([pattern]) => pattern.test(frame))?.[1]);
  return known.get(frame);
}

/**
 * Returns the category of a CPU sample, by the innermost frame that has one.
 *
 * @param stack frames, innermost first
 */
export function categoryOf(stack: readonly string[]): Category {
  for (const frame of stack) {
    const category = categoryOfFrame(frame);
    if (category !== undefined) return category;
  }
  return "other";
}
