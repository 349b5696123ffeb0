import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { CryptoMbPrivateKeyMethodConfigSchema } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/cryptomb/v3alpha/cryptomb";
import { QatPrivateKeyMethodConfigSchema } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/qat/v3alpha/qat";
import { type DataSource, DataSourceSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  type TlsCertificate,
  TlsCertificateSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import {
  type Secret as EnvoySecret,
  SecretSchema,
} from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import type { PrivateKeyProvider } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { isRootsName, type Secret } from "../certificates/secret.js";

/**
 * Builds the secret that Envoy receives.
 *
 * @param provider accelerator that Envoy signs with: `privateKeyProvider` of the proxy configuration. It gets the keys
 *   of all certificates, also those of files
 */
export function envoySecret(name: string, secret: Secret, provider: PrivateKeyProvider | undefined): EnvoySecret {
  return create(SecretSchema, {
    name,
    type:
      secret.kind === "roots"
        ? { case: "validationContext", value: validationContext(secret) }
        : { case: "tlsCertificate", value: tlsCertificate(secret, provider) },
  });
}

/**
 * Builds a secret that Envoy rejects, so that a listener or cluster does not wait for it: Envoy keeps the secret that
 * it has, and without one rejects all connections that need it. It lacks a required field, which Envoy notices when
 * it decodes the response. One with unusable content would become the secret of later listeners, and Envoy would
 * reject these.
 */
export function unusableSecret(name: string): EnvoySecret {
  const empty = create(DataSourceSchema);
  return create(SecretSchema, {
    name,
    type: isRootsName(name)
      ? { case: "validationContext", value: { trustedCa: empty } }
      : { case: "tlsCertificate", value: { certificateChain: empty, privateKey: empty } },
  });
}

function validationContext({ roots, revocationLists }: Extract<Secret, { kind: "roots" }>) {
  return { trustedCa: inline(roots), ...(revocationLists !== undefined && { crl: inline(revocationLists) }) };
}

function tlsCertificate(
  { chain, key }: Extract<Secret, { kind: "certificate" }>,
  provider: PrivateKeyProvider | undefined,
): TlsCertificate {
  const certificateChain = inline(chain);
  const accelerator = provider?.provider;
  if (accelerator?.case === undefined)
    return create(TlsCertificateSchema, { certificateChain, privateKey: inline(key) });
  const { pollDelay, fallback = false } = accelerator.value;
  const method = { privateKey: inline(key), ...(pollDelay && { pollDelay }) };
  const typedConfig =
    accelerator.case === "cryptomb"
      ? anyPack(CryptoMbPrivateKeyMethodConfigSchema, create(CryptoMbPrivateKeyMethodConfigSchema, method))
      : anyPack(QatPrivateKeyMethodConfigSchema, create(QatPrivateKeyMethodConfigSchema, method));
  return create(TlsCertificateSchema, {
    certificateChain,
    privateKeyProvider: {
      providerName: accelerator.case,
      configType: { case: "typedConfig", value: typedConfig },
      fallback,
    },
  });
}

function inline(text: string): DataSource {
  return create(DataSourceSchema, { specifier: { case: "inlineBytes", value: Buffer.from(text) } });
}
