import { booleanSetting, durationSetting, listSetting, stringArraySetting, stringSetting } from "@istiod/settings";

/** The flags of the servers and of the process. */
export const servingFlags = {
  grpcAddr: stringSetting({
    flag: "grpcAddr",
    placeholder: "addr",
    default: ":15010",
    help: "address of xDS over plaintext; empty to disable",
  }),
  secureGRPCAddr: stringSetting({
    flag: "secureGRPCAddr",
    placeholder: "addr",
    default: ":15012",
    help: "address of xDS and the CA over TLS; empty to disable",
  }),
  httpAddr: stringSetting({
    flag: "httpAddr",
    placeholder: "addr",
    default: ":8080",
    help: "address of readiness and debug endpoints",
  }),
  httpsAddr: stringSetting({
    flag: "httpsAddr",
    placeholder: "addr",
    default: ":15017",
    help: "address of the admission webhooks over TLS, served if istiod reads a cluster; empty to serve them on --httpAddr",
  }),
  monitoringAddr: stringSetting({
    flag: "monitoringAddr",
    placeholder: "addr",
    default: ":15014",
    help: "address of metrics; empty to serve them on --httpAddr",
  }),
  replica: stringArraySetting({
    flag: "replica",
    placeholder: "host:port",
    default: [],
    help: "xDS address over TLS of another replica of this control plane; repeatable. Default: in a Pod, those of the other Pods of this revision",
    isExtension: true,
  }),
  httpAllowedHosts: listSetting({
    flag: "httpAllowedHosts",
    placeholder: "names",
    default: [],
    help: "host names accepted in requests from this machine to the HTTP ports, in addition to localhost and IP addresses",
    isExtension: true,
  }),
  shutdownDuration: durationSetting({
    flag: "shutdownDuration",
    default: 10_000,
    help: "grace period of the shutdown, during which streams are closed at an even rate",
  }),
  keepaliveInterval: durationSetting({
    flag: "keepaliveInterval",
    variable: "GRPC_KEEPALIVE_INTERVAL",
    default: 30_000,
    help: "interval of HTTP/2 pings on a connection; 0s for the gRPC default of 2h",
  }),
  keepaliveTimeout: durationSetting({
    flag: "keepaliveTimeout",
    variable: "GRPC_KEEPALIVE_TIMEOUT",
    default: 10_000,
    help: "timeout of an HTTP/2 ping, after which the connection is closed; 0s for the gRPC default of 20s",
  }),
  keepaliveMaxServerConnectionAge: durationSetting({
    flag: "keepaliveMaxServerConnectionAge",
    default: 0,
    help: "maximum age of a connection, with a jitter of 10% and a grace period of 10s; 0s for no limit",
  }),
  xdsCompression: booleanSetting({
    flag: "xdsCompression",
    default: true,
    help: "compress xDS responses, except secrets, for clients that accept gzip, such as pilot-agent of this project",
    isExtension: true,
  }),
  profile: booleanSetting({ flag: "profile", default: true, help: "serve profiles at /debug/pprof/" }),
  readyFile: stringSetting({
    flag: "readyFile",
    placeholder: "file",
    default: "",
    help: "file to write when the first snapshot is served",
    isExtension: true,
  }),
  prepareLimit: durationSetting({
    flag: "prepareLimit",
    default: 30_000,
    help: "maximum duration of the startup warm-up, which precomputes the resources that pods in the mesh share; 0s to disable",
    isExtension: true,
  }),
} as const;
