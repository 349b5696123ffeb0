import type { JsonValue } from "@bufbuild/protobuf";

/** Text that replaces a sensitive value, as in Envoy's admin interface. */
const redactedText = "[redacted]";
const redactedBytes = Buffer.from(redactedText).toString("base64");

/**
 * Fields that Envoy redacts in its own dumps: those annotated `udpa.annotations.sensitive` in its API, by message. They
 * are also redacted here, because a dump may have been edited or written by another program.
 */
const sensitiveFields = new Set([
  "envoy.config.core.v3.GrpcService.GoogleGrpc.SslCredentials.private_key",
  "envoy.config.grpc_credential.v3.FileBasedMetadataConfig.secret_data",
  "envoy.config.trace.v3.ClientConfig.backend_token",
  "envoy.extensions.filters.http.basic_auth.v3.BasicAuth.users",
  "envoy.extensions.filters.http.basic_auth.v3.BasicAuthPerRoute.users",
  "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.downstream_auth_password",
  "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.downstream_auth_passwords",
  "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.downstream_auth_username",
  "envoy.extensions.filters.network.redis_proxy.v3.RedisProtocolOptions.auth_password",
  "envoy.extensions.filters.network.redis_proxy.v3.RedisProtocolOptions.auth_username",
  "envoy.extensions.transport_sockets.tls.v3.GenericSecret.secret",
  "envoy.extensions.transport_sockets.tls.v3.GenericSecret.secrets",
  "envoy.extensions.transport_sockets.tls.v3.PrivateKeyProvider.typed_config",
  "envoy.extensions.transport_sockets.tls.v3.TlsCertificate.password",
  "envoy.extensions.transport_sockets.tls.v3.TlsCertificate.pkcs12",
  "envoy.extensions.transport_sockets.tls.v3.TlsCertificate.private_key",
  "envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys.keys",
]);

/** Messages that mainly contain secrets. Their unknown fields are redacted, too. */
const secretMessages = new Set(
  ["GenericSecret", "TlsCertificate", "TlsSessionTicketKeys"].map(
    (name) => `envoy.extensions.transport_sockets.tls.v3.${name}`,
  ),
);

/** Names of fields that are redacted in messages of unknown types, and keys of maps. */
const sensitiveNames = new Set([
  // The variable in which the configuration of a Wasm extension has the credentials of a registry.
  "istiometawasmimagepullsecret",
  "privatekey",
  "privatekeyprovider",
  "password",
  "pkcs12",
  "sessionticketkeys",
  "genericsecret",
]);

/** Reports whether a field of a message of Envoy's API contains a secret. */
export function isSensitive(message: string, field: string): boolean {
  return sensitiveFields.has(`${message}.${field}`);
}

/**
 * Reports whether an unknown field may contain a secret, by its name. @param message name of its message, if known
 */
export function isSensitiveName(name: string, message = ""): boolean {
  return secretMessages.has(message) || sensitiveNames.has(name.replaceAll("_", "").toLowerCase());
}

/** Replaces all strings and numbers in a value. */
export function redacted(value: JsonValue, name = ""): JsonValue {
  if (Array.isArray(value)) return value.map((item) => redacted(item, name));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, of]) => [key, key === "@type" ? of : redacted(of, key)]),
    );
  return name === "inlineBytes" || name === "inline_bytes" ? redactedBytes : redactedText;
}

/** Redacts a string that contains or encodes a PEM private key. */
export function withoutPrivateKey(text: string): string {
  if (isPrivateKey(text)) return redactedText;
  return text.startsWith("LS0t") && isPrivateKey(Buffer.from(text, "base64").toString("latin1")) ? redactedBytes : text;
}

function isPrivateKey(text: string): boolean {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text);
}
