import { create, createRegistry, fromJson, toJson } from "@bufbuild/protobuf";
import { file_contrib_envoy_extensions_private_key_providers_cryptomb_v3alpha_cryptomb as cryptomb } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/cryptomb/v3alpha/cryptomb";
import { file_contrib_envoy_extensions_private_key_providers_qat_v3alpha_qat as qat } from "@istiod/envoy-api/contrib/envoy/extensions/private_key_providers/qat/v3alpha/qat";
import { SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { type PrivateKeyProvider, PrivateKeyProviderSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOptions } from "../src/index.js";
import { loadProxyConfig } from "../src/proxy-config/load.js";
import { envoySecret } from "../src/sds/envoy-secret.js";
import { scratch } from "./fakes.js";

const registry = createRegistry(cryptomb, qat);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns the JSON of the certificate C with key K as it is sent to Envoy. */
function sent(provider: PrivateKeyProvider | undefined): unknown {
  const secret = envoySecret("default", { kind: "certificate", chain: "C", key: "K" }, provider);
  return toJson(SecretSchema, secret, { registry });
}

describe("a private key provider of the proxy configuration", () => {
  it.each([
    ["cryptomb", "CryptoMb", { pollDelay: "0.010s", fallback: true }, "0.010s", { fallback: true }],
    ["cryptomb", "CryptoMb", { pollDelay: "1.500s" }, "1.500s", {}],
    ["qat", "Qat", { pollDelay: "0.002s", fallback: true }, "0.002s", { fallback: true }],
    ["qat", "Qat", { pollDelay: "0.002s", fallback: false }, "0.002s", {}],
  ])("%s gets the key of each certificate", (name, type, config, pollDelay, fallback) => {
    const provider = fromJson(PrivateKeyProviderSchema, { [name]: config });
    expect(sent(provider)).toEqual({
      name: "default",
      tlsCertificate: {
        certificateChain: { inlineBytes: base64("C") },
        privateKeyProvider: {
          providerName: name,
          typedConfig: {
            "@type": `type.googleapis.com/envoy.extensions.private_key_providers.${name}.v3alpha.${type}PrivateKeyMethodConfig`,
            pollDelay,
            privateKey: { inlineBytes: base64("K") },
          },
          ...fallback,
        },
      },
    });
  });

  it("is absent by default, and from roots", () => {
    expect(sent(undefined)).toEqual({
      name: "default",
      tlsCertificate: { certificateChain: { inlineBytes: base64("C") }, privateKey: { inlineBytes: base64("K") } },
    });
    const provider = fromJson(PrivateKeyProviderSchema, { qat: { pollDelay: "0.002s" } });
    expect(envoySecret("ROOTCA", { kind: "roots", roots: "R" }, provider)).toEqual(
      envoySecret("ROOTCA", { kind: "roots", roots: "R" }, create(PrivateKeyProviderSchema)),
    );
  });

  it.each([
    ["{privateKeyProvider: {}}", "privateKeyProvider: must have cryptomb or qat"],
    [
      "{privateKeyProvider: {cryptomb: {}}}",
      "privateKeyProvider.cryptomb.pollDelay: must be a duration of more than 0",
    ],
    [
      "{privateKeyProvider: {qat: {pollDelay: 0s, fallback: true}}}",
      "privateKeyProvider.qat.pollDelay: must be a duration of more than 0",
    ],
    [
      "{privateKeyProvider: {qat: {pollDelay: -1s}}}",
      "privateKeyProvider.qat.pollDelay: must be a duration of more than 0",
    ],
  ])("%s ends the agent", async (config, reason) => {
    const directory = await scratch();
    const load = (text: string) =>
      loadProxyConfig(readOptions({}, { PROXY_CONFIG: text }), join(directory, "mesh"), {});
    await expect(load(config)).rejects.toThrow(`proxy configuration: ${reason}`);
    const valid = await load("{privateKeyProvider: {qat: {pollDelay: 0.002s}}}");
    expect(valid.privateKeyProvider?.provider.case).toBe("qat");
  });
});
