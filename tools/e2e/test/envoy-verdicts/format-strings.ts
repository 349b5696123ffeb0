import fc from "fast-check";

/** Operators, those of other versions of Envoy, and names that never were any. */
const names =
  `ACCESS_LOG_TYPE BYTES_RECEIVED BYTES_RETRANSMITTED BYTES_SENT CEL CLIENT_ADDRESS CLUSTER_METADATA COALESCE
  COMMON_DURATION CONNECTION_ID CONNECTION_TERMINATION_DETAILS CUSTOM_FLAGS DOWNSTREAM_CX_RTT
  DOWNSTREAM_DECOMPRESSED_HEADER_BYTES_RECEIVED DOWNSTREAM_DECOMPRESSED_HEADER_BYTES_SENT DOWNSTREAM_DETECTED_CLOSE_TYPE
  DOWNSTREAM_DIRECT_LOCAL_ADDRESS DOWNSTREAM_DIRECT_LOCAL_ADDRESS_ENDPOINT_ID
  DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT DOWNSTREAM_DIRECT_LOCAL_PORT DOWNSTREAM_DIRECT_REMOTE_ADDRESS
  DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT DOWNSTREAM_DIRECT_REMOTE_PORT DOWNSTREAM_HANDSHAKE_DURATION
  DOWNSTREAM_HEADER_BYTES_RECEIVED DOWNSTREAM_HEADER_BYTES_SENT DOWNSTREAM_LOCAL_ADDRESS
  DOWNSTREAM_LOCAL_ADDRESS_ENDPOINT_ID DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT DOWNSTREAM_LOCAL_CLOSE_REASON
  DOWNSTREAM_LOCAL_DNS_SAN DOWNSTREAM_LOCAL_EMAIL_SAN DOWNSTREAM_LOCAL_IP_SAN DOWNSTREAM_LOCAL_OTHERNAME_SAN
  DOWNSTREAM_LOCAL_PORT DOWNSTREAM_LOCAL_SUBJECT DOWNSTREAM_LOCAL_URI_SAN DOWNSTREAM_METADATA DOWNSTREAM_PEER_CERT
  DOWNSTREAM_PEER_CERT_V_END DOWNSTREAM_PEER_CERT_V_START DOWNSTREAM_PEER_CHAIN_FINGERPRINTS_1
  DOWNSTREAM_PEER_CHAIN_FINGERPRINTS_256 DOWNSTREAM_PEER_CHAIN_SERIALS DOWNSTREAM_PEER_DNS_SAN DOWNSTREAM_PEER_EMAIL_SAN
  DOWNSTREAM_PEER_FINGERPRINT_1 DOWNSTREAM_PEER_FINGERPRINT_256 DOWNSTREAM_PEER_IP_SAN DOWNSTREAM_PEER_ISSUER
  DOWNSTREAM_PEER_ISSUER_FINGERPRINT_256 DOWNSTREAM_PEER_ISSUER_SERIAL DOWNSTREAM_PEER_OTHERNAME_SAN
  DOWNSTREAM_PEER_SERIAL DOWNSTREAM_PEER_SUBJECT DOWNSTREAM_PEER_URI_SAN DOWNSTREAM_REMOTE_ADDRESS
  DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT DOWNSTREAM_REMOTE_PORT DOWNSTREAM_TLS_CIPHER DOWNSTREAM_TLS_GROUP
  DOWNSTREAM_TLS_SESSION_ID DOWNSTREAM_TLS_VERSION DOWNSTREAM_TRANSPORT_FAILURE_REASON DOWNSTREAM_WIRE_BYTES_RECEIVED
  DOWNSTREAM_WIRE_BYTES_SENT DURATION DYNAMIC_METADATA EMIT_TIME EMIT_TIME_LOCAL ENVIRONMENT FILE_CONTENT
  FILTER_CHAIN_NAME FILTER_STATE GRPC_STATUS GRPC_STATUS_NUMBER HOSTNAME LISTENER_METADATA LISTENER_NAME
  LOCAL_REPLY_BODY METADATA PACKETS_RETRANSMITTED PATH PER_REQUEST_STATE PROTOCOL QUERY_PARAM QUERY_PARAMS REQ
  REQUESTED_SERVER_NAME REQUEST_DURATION REQUEST_HEADER REQUEST_HEADERS_BYTES REQUEST_TX_DURATION REQ_WITHOUT_QUERY RESP
  RESPONSE_CODE RESPONSE_CODE_DETAILS RESPONSE_DURATION RESPONSE_FLAGS RESPONSE_FLAGS_LONG RESPONSE_HEADER
  RESPONSE_HEADERS_BYTES RESPONSE_TRAILER RESPONSE_TRAILERS_BYTES RESPONSE_TX_DURATION ROUNDTRIP_DURATION
  ROUTE_METADATA ROUTE_NAME ROUTE_RESOLUTION_COUNT ROUTE_RESOLUTION_TIME_US SECRET SPAN_ID START_TIME START_TIME_LOCAL
  STREAM_ID STREAM_INFO_REQ TLS_JA3_FINGERPRINT TLS_JA4_FINGERPRINT TRACE_ID TRAILER UNIQUE_ID UPSTREAM_CLUSTER
  UPSTREAM_CLUSTER_RAW UPSTREAM_CONNECTION_ID UPSTREAM_CONNECTION_IDS_ATTEMPTED UPSTREAM_CONNECTION_POOL_READY_DURATION
  UPSTREAM_DECOMPRESSED_HEADER_BYTES_RECEIVED UPSTREAM_DECOMPRESSED_HEADER_BYTES_SENT UPSTREAM_DETECTED_CLOSE_TYPE
  UPSTREAM_FILTER_STATE UPSTREAM_HEADER_BYTES_RECEIVED UPSTREAM_HEADER_BYTES_SENT UPSTREAM_HOST
  UPSTREAM_HOSTS_ATTEMPTED UPSTREAM_HOSTS_ATTEMPTED_WITHOUT_PORT UPSTREAM_HOST_NAME UPSTREAM_HOST_NAMES_ATTEMPTED
  UPSTREAM_HOST_NAMES_ATTEMPTED_WITHOUT_PORT UPSTREAM_HOST_NAME_WITHOUT_PORT UPSTREAM_LOCAL_ADDRESS
  UPSTREAM_LOCAL_ADDRESS_WITHOUT_PORT UPSTREAM_LOCAL_CLOSE_REASON UPSTREAM_LOCAL_DNS_SAN UPSTREAM_LOCAL_IP_SAN
  UPSTREAM_LOCAL_PORT UPSTREAM_LOCAL_URI_SAN UPSTREAM_METADATA UPSTREAM_PEER_CERT UPSTREAM_PEER_CERT_V_END
  UPSTREAM_PEER_CERT_V_START UPSTREAM_PEER_DNS_SAN UPSTREAM_PEER_IP_SAN UPSTREAM_PEER_ISSUER UPSTREAM_PEER_SUBJECT
  UPSTREAM_PEER_URI_SAN UPSTREAM_PROTOCOL UPSTREAM_REMOTE_ADDRESS UPSTREAM_REMOTE_ADDRESS_ENDPOINT_ID
  UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT UPSTREAM_REMOTE_PORT UPSTREAM_REQUEST_ATTEMPT_COUNT UPSTREAM_SERVER_NAME
  UPSTREAM_TLS_CIPHER UPSTREAM_TLS_GROUP UPSTREAM_TLS_SESSION_ID UPSTREAM_TLS_VERSION UPSTREAM_TRANSPORT_FAILURE_REASON
  UPSTREAM_WIRE_BYTES_RECEIVED UPSTREAM_WIRE_BYTES_SENT VIRTUAL_CLUSTER_NAME XFCC_VALUE constructor toString`.split(
    /\s+/,
  );

const operands = [
  ...["SNI_FIRST", "SNI_ONLY:HOST", "HOST_FIRST:ORIG_OR_HOST", ":ORIG", "SNI_FIRST:x", "SNI_FIRST:ORIG:x"],
  ...["", "x", "x?y", "x?y?z", "?y", "x?", "?", "??", "x?y?", "X-A", ":path", "x?:path", ":A", ":", "::", "a:", "a b"],
  ...[
    "é",
    "\t",
    "a\rb",
    "a\nb",
    "\u2028",
    "a:b",
    ":a",
    "a:b:us",
    "a:b:ms",
    "a:b:ns",
    "a:b:s",
    "a:b:",
    "a:b:c:d",
    "::ms",
  ],
  ...["a:PLAIN", "a:TYPED", "a:plain", "a:FIELD", "a:FIELD:b", "a:FIELD:b:c", "a:PLAIN:b", ":PLAIN", "a::b"],
  ...["NUMBER", "CAMEL_STRING", "SNAKE_STRING", "number", "%n", "%%n", "%En", "%-n", "%10n", "%s", "%3f", "%", "%Y-%m"],
  ...["ALLOW_WHITESPACES", "CLUSTER", "CLUSTER:a", "ROUTE:a:b", "LISTENER", "LISTENER_FILTER_CHAIN", "DYNAMIC:a:b"],
  ...[
    "UPSTREAM_HOST",
    "VIRTUAL_HOST:x",
    "ENDPOINT",
    "FILTER_CHAIN",
    "cluster",
    "WQ",
    "NQ",
    "WQ:PATH",
    "NQ:ORIG",
    "WQ:x",
  ],
  ...["WQ:PATH:x", ":ORIG_OR_PATH", "ORIG", "DECODED", "DECODED:", "uri", "URI", "by", "dns", "email", "33", "-1"],
  ...['["a","b"]', '[ "a" , "b" ]', "a(b", "a)b", "a=b", "a/b", "a,b", "a\\)b", "request.path", "request.headers['a']"],
  ...["has(request.headers.a)", "string(a)", "request.headers.`x-y`", "size(a) > 1", "a +", "'%'"],
  ...['{"operators":["PROTOCOL"]}', '{"operators":["REQ"]}', '{"operators":[]}', "{}", "[]", '{"operators":{}}', "{,}"],
  ...['{"operators":[{"command":"REQ","param":"a?b"}]}', '{"operators":[{"command":"REQ","param":"a?b?c"}]}'],
  ...['{"operators":[{"command":"REQ","param":"a","max_length":3},"PROTOCOL"]}'],
  ...[0, -1, 3.5, "3", null, 1e20].map(
    (n) => `{"operators":[{"command":"REQ","param":"a","max_length":${JSON.stringify(n)}}]}`,
  ),
  ...[
    '{"operators":[{"command":"REQ","param":"a","max_length":3.0}]}',
    '{"operators":[{"command":"PROTOCOL","max_length":3}]}',
  ],
  ...[
    '{"operators":["X"]}',
    '{"operators":[1]}',
    '{"operators":[null]}',
    '{"operators":[{"command":"REQ","param":1}]}',
  ],
  ...['{"operators":[{"param":"a"}]}', '{"operators":["CEL"]}', '{"operators":[{"command":"CEL","param":"x"}]}'],
  ...['{"operators":["PROTOCOL"],"x":1}', ' {"operators":["\\u0050ROTOCOL"]} ', '{"operators":["PROTOCOL",]}'],
  JSON.stringify({ operators: [{ command: "COALESCE", param: '{"operators":["PROTOCOL"]}' }] }),
  JSON.stringify({ operators: [{ command: "COALESCE", param: '{"operators":["X"]}' }] }),
  JSON.stringify({ operators: [{ command: "REQ_WITHOUT_QUERY", param: "x" }] }),
];
const lengths = ["", ":0", ":10", ":007", ":18446744073709551615", ":18446744073709551616", ":", ":-1", ":x"];

/** Every operator with every operand, and with every length. */
export const operatorForms: readonly string[] = names
  .flatMap((name) => [
    ...operands.flatMap((operand) => [`%${name}(${operand})%`, `%${name}(${operand}):7%`]),
    ...lengths.flatMap((length) => [`%${name}${length}%`, `%${name}(x)${length}%`, `%${name}(a:b)${length}%`]),
  ])
  .filter((form) => !/COALESCE\((?:-?[0-9])/.test(form));

const lists = [
  ...[
    "[]",
    '[""]',
    '["",""]',
    '["a"]',
    '["a","b"]',
    ' [ "a" , "b" ] ',
    '["a:b"]',
    '["a)b"]',
    '["a)%b"]',
    '["a","b"]x',
    '["a"',
  ],
  ...[
    '["a\\"b"]',
    "[a]",
    '["a",]',
    "[1]",
    '["",1]',
    "[null]",
    "[[]]",
    "['a']",
    '["%PROTOCOL%"]',
    '["a%%b"]',
    '[""] ',
    "x",
  ],
];
const states = ["x", "", "a:b", "x:FIELD:y", "a)b", "a(b", "(a)", "a.b_c-d", "a b", "é", "a)%b"];

/** The forms that only header values have, and their mistakes. */
export const headerForms: readonly string[] = [
  ...["UPSTREAM_METADATA", "DYNAMIC_METADATA", "CLUSTER_METADATA", "DOWNSTREAM_METADATA"].flatMap((name) =>
    lists.flatMap((list) => [`%${name}(${list})%`, `%${name}(${list}):3%`, `%%${name}(${list})%%`]),
  ),
  ...states.flatMap((key) => [`%PER_REQUEST_STATE(${key})%`, `%PER_REQUEST_STATE(${key}):3%`]),
  ...["%PER_REQUEST_STATE%", "%%PER_REQUEST_STATE(a)%%", "%PER_REQUEST_STATE(a)%%PER_REQUEST_STATE(b)%"],
  ...['%UPSTREAM_METADATA(["a"])%%UPSTREAM_METADATA([1])%', '%REQ(%UPSTREAM_METADATA(["a"])%)%'],
];

const fragment = fc.oneof(
  fc.constantFrom("", "a", " ", "%", "%%", "%%%", "100%", "é", '"', "{", "\t", "% ", "%a%", "%_%", "%1%", "%)%", "%(%"),
  fc.constantFrom(
    "%PROTOCOL",
    "%PROTOCOL %",
    "% PROTOCOL%",
    "%protocol%",
    "%REQ(a)",
    "%REQ(a",
    "%REQ a)%",
    "%REQ(a) :1%",
  ),
  fc.constantFrom(...operatorForms.filter((_, n) => n % 7 === 0)),
  fc.constantFrom("%PROTOCOL%", "%REQ(x-b?x-c):10%", "%START_TIME(%Y)%", "%HOSTNAME%", "%DYNAMIC_METADATA(a:b)%"),
);

/** Texts of several fragments. */
export const composedFormats: fc.Arbitrary<string> = fc
  .array(fragment, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(""))
  .filter((text) => !/COALESCE\((?:-?[0-9])/.test(text));
