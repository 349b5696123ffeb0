import { describe, expect, test } from "vitest";
import {
  afterTlsTermination,
  isGrpc,
  isHttp,
  isHttp2,
  isHttpOrDetected,
  isTcp,
  isTls,
  kubernetesPortProtocol,
  parseProtocol,
} from "@istiod/service-discovery";

describe("the protocol of a Kubernetes port", () => {
  const cases: readonly [port: Parameters<typeof kubernetesPortProtocol>[0], protocol: string][] = [
    [{ name: "http", port: 80, protocol: "TCP" }, "HTTP"],
    [{ name: "http-api", port: 80, protocol: "TCP" }, "HTTP"],
    [{ name: "HTTP2-x", port: 80, protocol: "TCP" }, "HTTP2"],
    [{ name: "grpc-web-api", port: 80, protocol: "TCP" }, "GRPC-Web"],
    [{ name: "gRPC-Webby", port: 80, protocol: "TCP" }, "GRPC-Web"],
    [{ name: "httpx", port: 80, protocol: "TCP" }, "UnsupportedProtocol"],
    [{ name: "", port: 80, protocol: "TCP" }, "UnsupportedProtocol"],
    [{ name: "db", port: 3306, protocol: "TCP" }, "TCP"],
    [{ name: "http", port: 3306, protocol: "TCP" }, "HTTP"],
    [{ name: "http", port: 80, protocol: "UDP" }, "UDP"],
    [{ name: "http", port: 80, protocol: "TCP", appProtocol: "grpc" }, "GRPC"],
    [{ name: "http", port: 80, protocol: "TCP", appProtocol: "kubernetes.io/h2c" }, "HTTP2"],
    [{ name: "http", port: 80, protocol: "TCP", appProtocol: "kubernetes.io/ws" }, "HTTP"],
    [{ name: "tcp", port: 80, protocol: "TCP", appProtocol: "kubernetes.io/wss" }, "HTTPS"],
    [{ name: "http", port: 80, protocol: "TCP", appProtocol: "example.org/own" }, "UnsupportedProtocol"],
  ];
  test.each(cases)("%j is %s", (port, protocol) => expect(kubernetesPortProtocol(port)).toBe(protocol));
});

test("protocols are classified", () => {
  expect(parseProtocol("Mongo")).toBe("Mongo");
  expect(isHttp("GRPC") && isHttp2("GRPC") && isGrpc("GRPC")).toBe(true);
  expect(isTcp("HTTPS") && isTls("HTTPS") && !isHttp("HTTPS")).toBe(true);
  expect(isHttpOrDetected("UnsupportedProtocol")).toBe(true);
  expect(afterTlsTermination("HTTPS")).toBe("HTTP");
  expect(afterTlsTermination("TLS")).toBe("TCP");
  expect(afterTlsTermination("Redis")).toBe("Redis");
});
