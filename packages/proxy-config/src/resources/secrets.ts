import { X509Certificate } from "node:crypto";
import { fromBinary, type JsonObject } from "@bufbuild/protobuf";
import { type DataSource } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { type CertificateValidationContext } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/common";
import { type Secret, SecretSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret";
import { SPIFFECertValidatorConfigSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls_spiffe_validator_config";
import { type ConfigDump, dumpedResource, objectIn, objectsIn, section } from "../dump/config-dump.js";
import { typeName } from "../dump/registry.js";
import type { Table } from "../table.js";

/** A certificate of a proxy, or its trusted roots. Strings are empty if there is no certificate. */
export interface SecretSummary {
  readonly name: string;
  readonly state: "ACTIVE" | "WARMING";
  readonly type: "CA" | "Cert Chain" | "";
  /** True if the certificate can be parsed and is currently valid. */
  readonly valid: boolean;
  /** Serial number in hexadecimal, at least 32 digits. */
  readonly serialNumber: string;
  /** RFC 3339 time. */
  readonly notAfter: string;
  readonly notBefore: string;
  readonly trustDomain: string;
}

/** Returns the secrets of a dump, without private keys. */
export function secretsJson(dump: ConfigDump): JsonObject {
  const { "@type": _, ...json } = section(dump, "SecretsConfigDump");
  return json;
}

/**
 * Summarizes the secrets of a proxy: the first certificate of each, and one certificate per trust domain for roots.
 */
export function secrets(dump: ConfigDump, now: number = Date.now()): readonly SecretSummary[] {
  const found = section(dump, "SecretsConfigDump");
  const lists = [
    ["dynamicWarmingSecrets", "WARMING"],
    ["dynamicActiveSecrets", "ACTIVE"],
  ] as const;
  return lists.flatMap(([list, state]) =>
    objectsIn(found, list).flatMap((entry) => {
      const packed = objectIn(entry, "secret");
      const name = String(entry["name"] ?? "");
      return certificatesOf(packed && dumpedResource(SecretSchema, packed).message).map(({ pem, trustDomain }) => ({
        name,
        state,
        ...summary(pem, trustDomain, now),
      }));
    }),
  );
}

/** Builds the table of secrets, with trust domains if all have one. @param named whether names start with `secret/` */
export function secretTable(found: readonly SecretSummary[], named = false): Table {
  const withDomains = found.length > 0 && found.every(({ trustDomain }) => trustDomain !== "");
  const header = ["RESOURCE NAME", "TYPE", "STATUS", "VALID CERT", "SERIAL NUMBER", "NOT AFTER", "NOT BEFORE"];
  const rows = found.map(({ name, type, state, valid, serialNumber, notAfter, notBefore, trustDomain }) => {
    return [
      `${named ? "secret/" : ""}${name}`,
      type,
      state,
      String(valid),
      serialNumber,
      notAfter,
      notBefore,
      ...(withDomains ? [trustDomain] : []),
    ];
  });
  return [[...header, ...(withDomains ? ["TRUST DOMAIN"] : [])], ...rows];
}

interface Pem {
  readonly pem: string;
  readonly trustDomain: string;
}

function certificatesOf(secret: Secret | undefined): readonly Pem[] {
  const type = secret?.type;
  if (type?.case === "tlsCertificate") return [{ pem: inline(type.value.certificateChain), trustDomain: "" }];
  if (type?.case !== "validationContext") return [{ pem: "", trustDomain: "" }];
  const roots = inline(type.value.trustedCa);
  return roots === ""
    ? (spiffeBundles(type.value) ?? [{ pem: "", trustDomain: "" }])
    : [{ pem: roots, trustDomain: "" }];
}

function spiffeBundles({ customValidatorConfig }: CertificateValidationContext): readonly Pem[] | undefined {
  const packed = customValidatorConfig?.typedConfig;
  if (packed === undefined || typeName(packed.typeUrl) !== SPIFFECertValidatorConfigSchema.typeName) return undefined;
  return fromBinary(SPIFFECertValidatorConfigSchema, packed.value).trustDomains.map(({ name, trustBundle }) => ({
    pem: inline(trustBundle),
    trustDomain: name,
  }));
}

function inline(source: DataSource | undefined): string {
  if (source?.specifier.case === "inlineBytes") return Buffer.from(source.specifier.value).toString("latin1");
  return source?.specifier.case === "inlineString" ? source.specifier.value : "";
}

function summary(pem: string, knownDomain: string, now: number): Omit<SecretSummary, "name" | "state"> {
  const certificate = parseCertificate(pem);
  if (certificate === undefined)
    return { type: "", valid: false, serialNumber: "", notAfter: "", notBefore: "", trustDomain: "" };
  const notBefore = new Date(certificate.validFrom);
  const notAfter = new Date(certificate.validTo);
  return {
    type: certificate.ca ? "CA" : "Cert Chain",
    valid: notBefore.getTime() < now && now < notAfter.getTime(),
    serialNumber: certificate.serialNumber.toLowerCase().padStart(32, "0"),
    notAfter: rfc3339(notAfter),
    notBefore: rfc3339(notBefore),
    trustDomain: knownDomain || (/URI:spiffe:\/\/([^/,"]+)/.exec(certificate.subjectAltName ?? "")?.[1] ?? ""),
  };
}

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return pem === "" ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function rfc3339(time: Date): string {
  return time.toISOString().replace(".000Z", "Z");
}
