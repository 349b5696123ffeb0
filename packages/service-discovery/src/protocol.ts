/** The protocol of a service port, named as Istio names it (`pkg/config/protocol`). */
export type Protocol =
  | "GRPC"
  | "GRPC-Web"
  | "HTTP"
  | "HTTP_PROXY"
  | "HTTP2"
  | "HTTPS"
  | "TCP"
  | "TLS"
  | "UDP"
  | "Mongo"
  | "Redis"
  | "MySQL"
  | "HBONE"
  | "UnsupportedProtocol";

const BY_NAME: ReadonlyMap<string, Protocol> = new Map([
  ["tcp", "TCP"],
  ["udp", "UDP"],
  ["grpc", "GRPC"],
  ["grpc-web", "GRPC-Web"],
  ["http", "HTTP"],
  ["http_proxy", "HTTP_PROXY"],
  ["http2", "HTTP2"],
  ["https", "HTTPS"],
  ["tls", "TLS"],
  ["mongo", "Mongo"],
  ["redis", "Redis"],
  ["mysql", "MySQL"],
]);

/** Values of `appProtocol` that Kubernetes itself defines (Service API, `ServicePort.appProtocol`). */
const KUBERNETES_APP_PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ["kubernetes.io/h2c", "HTTP2"],
  ["kubernetes.io/ws", "HTTP"],
  ["kubernetes.io/wss", "HTTPS"],
]);

/** Ports of SMTP, DNS, MySQL and MongoDB. Protocol detection is disabled for these server-first protocols. */
const NEVER_DETECTED_PORTS: ReadonlySet<number> = new Set([25, 53, 3306, 27017]);

/**
 * Returns the protocol with this name, in any case; `UnsupportedProtocol` for any other name, which enables protocol
 * detection.
 */
export function parseProtocol(name: string): Protocol {
  return BY_NAME.get(name.toLowerCase()) ?? "UnsupportedProtocol";
}

/**
 * Returns the protocol of a Kubernetes Service port: UDP by transport, else by `appProtocol`, else by the prefix of the
 * port's name up to the first `-`. Source: Istio's "Protocol Selection".
 */
export function kubernetesPortProtocol(port: {
  readonly port: number;
  readonly name: string;
  readonly protocol: string;
  readonly appProtocol?: string | undefined;
}): Protocol {
  if (port.protocol === "UDP") return "UDP";
  if (port.appProtocol !== undefined) {
    const known = KUBERNETES_APP_PROTOCOLS.get(port.appProtocol);
    if (known !== undefined) return known;
  }
  const name = port.appProtocol ?? port.name;
  if (name.toLowerCase().startsWith("grpc-web")) return "GRPC-Web";
  const dash = name.indexOf("-");
  const protocol = parseProtocol(dash < 0 ? name : name.slice(0, dash));
  if (protocol === "UnsupportedProtocol" && NEVER_DETECTED_PORTS.has(port.port)) return "TCP";
  return protocol;
}

/** Reports whether the protocol is HTTP/1.1 or HTTP/2 in plaintext. */
export function isHttp(protocol: Protocol): boolean {
  return (
    protocol === "HTTP" ||
    protocol === "HTTP2" ||
    protocol === "HTTP_PROXY" ||
    protocol === "GRPC" ||
    protocol === "GRPC-Web"
  );
}

/** Reports whether the protocol requires HTTP/2. */
export function isHttp2(protocol: Protocol): boolean {
  return protocol === "HTTP2" || protocol === "GRPC" || protocol === "GRPC-Web";
}

/** Reports whether the protocol is gRPC or gRPC-Web. */
export function isGrpc(protocol: Protocol): boolean {
  return protocol === "GRPC" || protocol === "GRPC-Web";
}

/** Reports whether the protocol is proxied as TCP, including opaque TLS. */
export function isTcp(protocol: Protocol): boolean {
  return (
    protocol === "TCP" ||
    protocol === "HTTPS" ||
    protocol === "TLS" ||
    protocol === "Mongo" ||
    protocol === "Redis" ||
    protocol === "MySQL"
  );
}

/** Reports whether the protocol starts with a TLS handshake. */
export function isTls(protocol: Protocol): boolean {
  return protocol === "HTTPS" || protocol === "TLS";
}

/** Reports whether the protocol is not declared, so that Envoy must detect it. */
export function isUndeclared(protocol: Protocol): boolean {
  return protocol === "UnsupportedProtocol";
}

/** Reports whether HTTP is declared or may be detected. */
export function isHttpOrDetected(protocol: Protocol): boolean {
  return isHttp(protocol) || isUndeclared(protocol);
}

/** Returns the protocol after TLS termination. */
export function afterTlsTermination(protocol: Protocol): Protocol {
  if (protocol === "HTTPS") return "HTTP";
  if (protocol === "TLS") return "TCP";
  return protocol;
}
