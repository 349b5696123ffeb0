import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  type CommonTlsContext,
  CommonTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { packAny } from "../envoy/any.js";
import { exactMatcher } from "../envoy/string-matcher.js";
import { tlsTransportSocket, transportSocket } from "../envoy/transport-socket.js";

/** The certificate provider in the bootstrap file, and its certificates. */
const provider = "default";
const certificate = { instanceName: provider, certificateName: "default" } as const;
const roots = { instanceName: provider, certificateName: "ROOTCA" } as const;

/**
 * Returns the transport socket of a client: TLS with servers that have a certificate of the mesh.
 *
 * @param subjectAltNames the names of which the server's certificate must have one; none: any
 * @param authenticates whether the client presents its own certificate
 */
export function clientTls(subjectAltNames: readonly string[], authenticates: boolean): TransportSocket {
  const commonTlsContext = commonContext(authenticates, {
    matchSubjectAltNames: subjectAltNames.map((name) => exactMatcher(name)),
  });
  return transportSocket(tlsTransportSocket, packAny(UpstreamTlsContextSchema, { commonTlsContext }));
}

/** Returns the transport socket of a server that requires a certificate of the mesh. Libraries reject names here. */
export function serverTls(): TransportSocket {
  const commonTlsContext = commonContext(true, {});
  return transportSocket(
    tlsTransportSocket,
    packAny(DownstreamTlsContextSchema, { commonTlsContext, requireClientCertificate: true }),
  );
}

/**
 * The deprecated fields are for libraries before 1.66, which know no others; newer ones ignore them. Source:
 * pilot/pkg/networking/grpcgen/grpcgen.go.
 */
function commonContext(
  hasCertificate: boolean,
  validation: { readonly matchSubjectAltNames?: ReturnType<typeof exactMatcher>[] },
): CommonTlsContext {
  const own: MessageInitShape<typeof CommonTlsContextSchema> = hasCertificate
    ? { tlsCertificateProviderInstance: certificate, tlsCertificateCertificateProviderInstance: certificate }
    : {};
  return create(CommonTlsContextSchema, {
    ...own,
    validationContextType: {
      case: "combinedValidationContext",
      value: {
        validationContextCertificateProviderInstance: roots,
        defaultValidationContext: { ...validation, caCertificateProviderInstance: roots },
      },
    },
  });
}
