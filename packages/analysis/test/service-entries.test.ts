import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const entry = (name: string, spec: string, namespace = "shop"): string =>
  `apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec:\n  hosts: [db.example.com]\n  resolution: DNS\n${spec}\n---\n`;

const ports = (...protocols: readonly string[]): string =>
  ["  ports:", ...protocols.map((protocol, i) => `  - {number: ${5432 + i}, name: p${i}, protocol: ${protocol}}`)].join(
    "\n",
  );

describe("ServiceEntries with TCP ports", () => {
  const addresses = "serviceentry.Analyzer";

  it("require addresses", () => {
    expect(placesOf(addresses, entry("db", ports("TCP", "HTTP", "tcp", '""')))).toEqual([
      "IST0134 ServiceEntry shop/db 8",
      "IST0134 ServiceEntry shop/db 10",
      "IST0134 ServiceEntry shop/db 11",
    ]);
    expect(messagesOf(addresses, entry("db", ports("TCP")))[0]).toContain(
      "port 5432 is TCP, and addresses are required for this protocol",
    );
    expect(placesOf(addresses, entry("db", `${ports("TCP")}\n  addresses: [240.0.0.1]`))).toEqual([]);
    expect(
      placesOf(
        addresses,
        entry("db", `${ports("TCP")}\nstatus: {addresses: [{value: 240.240.0.1, host: db.example.com}]}`),
      ),
    ).toEqual([]);
  });

  it("do not require addresses if they are allocated automatically", () => {
    const meshConfig = (
      metadata: string,
    ): { readonly meshConfig: { readonly file: string; readonly text: string } } => ({
      meshConfig: { file: "mesh.yaml", text: `defaultConfig: {proxyMetadata: {${metadata}}}` },
    });
    const found = (metadata: string): readonly string[] =>
      placesOf(addresses, entry("db", ports("TCP")), meshConfig(metadata)).filter((place) =>
        place.startsWith("IST0134"),
      );
    expect(found('ISTIO_META_DNS_CAPTURE: "true", ISTIO_META_DNS_AUTO_ALLOCATE: "true"')).toEqual([]);
    expect(found('ISTIO_META_DNS_CAPTURE: "true", PILOT_ENABLE_IP_AUTOALLOCATE: "true"')).toEqual([]);
    expect(found('ISTIO_META_DNS_AUTO_ALLOCATE: "true"')).toEqual(["IST0134 ServiceEntry shop/db 8"]);
  });
});

describe("protocols of ServiceEntries", () => {
  const protocols = "serviceentry.ConflictingServiceEntryProtocolAnalyzer";

  it("conflict if they differ for the same host and port", () => {
    expect(messagesOf(protocols, entry("a", ports("HTTP")) + entry("b", ports("TCP"), "other"))).toEqual([
      "IST0177 ServiceEntry other/b 17: port 5432 of host db.example.com has conflicting protocols (HTTP, TCP), also in ServiceEntry shop/a; declare one protocol",
      "IST0177 ServiceEntry shop/a 8: port 5432 of host db.example.com has conflicting protocols (HTTP, TCP), also in ServiceEntry other/b; declare one protocol",
    ]);
    expect(placesOf(protocols, entry("a", ports("HTTP")) + entry("b", ports("http")))).toEqual([]);
    expect(placesOf(protocols, entry("a", ports("HTTP", "TCP")) + entry("b", ports("HTTP")))).toEqual([]);
  });

  it("conflict only if both are visible in a namespace", () => {
    const both = (a: string, b: string): readonly string[] =>
      placesOf(
        protocols,
        entry("a", `${ports("HTTP")}\n  exportTo: [${a}]`) + entry("b", `${ports("TCP")}\n  exportTo: [${b}]`, "other"),
      );
    const conflict = ["IST0177 ServiceEntry other/b 18", "IST0177 ServiceEntry shop/a 8"];
    expect(both('"."', '"."')).toEqual([]);
    expect(both('"."', "shop")).toEqual(conflict);
    expect(both("one, two", "two, three")).toEqual(conflict);
    expect(both("one", '"*"')).toEqual(conflict);
  });
});
