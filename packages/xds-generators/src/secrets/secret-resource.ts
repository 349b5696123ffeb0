import { create, toBinary } from "@bufbuild/protobuf";
import { CryptoMbPrivateKeyMethodConfigSchema } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/cryptomb/v3alpha/cryptomb";
import { QatPrivateKeyMethodConfigSchema } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/qat/v3alpha/qat";
import { type DataSource, DataSourceSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  CertificateValidationContextSchema,
  type TlsCertificate,
  TlsCertificateSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import { type Secret, SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import type { PrivateKeyProvider } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { KeyPair, RootCertificates } from "@istiod/credentials";
import { type Resource, resource } from "@istiod/resources";
import { packAny } from "../envoy/any.js";

/** The secret resource with root certificates. */
export function rootsResource(name: string, { certificates, crl }: RootCertificates): Resource {
  return secretResource(name, {
    case: "validationContext",
    value: create(CertificateValidationContextSchema, {
      trustedCa: inline(certificates),
      ...(crl && { crl: inline(crl) }),
    }),
  });
}

/** The secret resource with a certificate and its key. The proxy's configuration may delegate the key to hardware. */
export function keyPairResource(name: string, pair: KeyPair, provider: PrivateKeyProvider | undefined): Resource {
  return secretResource(name, { case: "tlsCertificate", value: tlsCertificate(pair, provider) });
}

function tlsCertificate({ chain, key, ocspStaple }: KeyPair, provider: PrivateKeyProvider | undefined): TlsCertificate {
  const certificateChain = inline(chain);
  const hardware = provider?.provider;
  if (hardware === undefined || hardware.case === undefined) {
    return create(TlsCertificateSchema, {
      certificateChain,
      privateKey: inline(key),
      ...(ocspStaple && { ocspStaple: inline(ocspStaple) }),
    });
  }
  const schema = hardware.case === "cryptomb" ? CryptoMbPrivateKeyMethodConfigSchema : QatPrivateKeyMethodConfigSchema;
  const { pollDelay, fallback } = hardware.value;
  const method = packAny(schema, { privateKey: inline(key), ...(pollDelay && { pollDelay }) });
  return create(TlsCertificateSchema, {
    certificateChain,
    privateKeyProvider: {
      providerName: hardware.case,
      configType: { case: "typedConfig", value: method },
      fallback: fallback ?? false,
    },
  });
}

function inline(value: Uint8Array): DataSource {
  return create(DataSourceSchema, { specifier: { case: "inlineBytes", value } });
}

function secretResource(name: string, type: Secret["type"]): Resource {
  return resource(name, toBinary(SecretSchema, create(SecretSchema, { name, type })));
}
