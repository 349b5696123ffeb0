import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Cluster, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { UpstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileTemplate, fillTemplate, placeholder, repeatedPlaceholder } from "../../src/encoding/template.js";
import { transportSocket } from "../../src/envoy/transport-socket.js";

interface Texts {
  readonly name: string;
  readonly sni: string;
  readonly names: readonly string[];
}

/** A cluster with placeholders at the top level, within a string, in maps, and deep inside packed messages. */
function cluster({ name, sni, names }: Texts, suffix = ";"): Cluster {
  const context = create(UpstreamTlsContextSchema, {
    sni,
    commonTlsContext: {
      alpnProtocols: ["istio"],
      validationContextType: {
        case: "combinedValidationContext",
        value: {
          defaultValidationContext: {
            matchSubjectAltNames: names.map((exact) => ({ matchPattern: { case: "exact" as const, value: exact } })),
          },
        },
      },
    },
  });
  return create(ClusterSchema, {
    name,
    altStatName: `${name}${suffix}`,
    edsClusterConfig: { serviceName: name, edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } },
    metadata: { filterMetadata: { istio: { services: [{ host: name, name: "fixed" }], weight: 0.5 } } },
    transportSocketMatches: [
      {
        name: "tls",
        match: { tlsMode: "istio" },
        transportSocket: transportSocket("tls", anyPack(UpstreamTlsContextSchema, context)),
      },
    ],
    connectTimeout: { seconds: 10n },
  });
}

const blanks: Texts = { name: placeholder("name"), sni: placeholder("sni"), names: [repeatedPlaceholder("names")] };

describe("a template", () => {
  it("keeps user-supplied strings that look like placeholders", () => {
    for (const text of ["\u0001blank:name\u0002", "a\u0001blank:name\u0002", "\u0001blank:", "\u0001\u0002"]) {
      const message = create(ClusterSchema, {
        name: placeholder("name"),
        lrsReportEndpointMetrics: [text],
        altStatName: text,
      });
      const made = fromBinary(
        ClusterSchema,
        fillTemplate(compileTemplate(toBinary(ClusterSchema, message)), { name: "cart" }),
      );
      expect([made.name, made.altStatName, made.lrsReportEndpointMetrics]).toEqual(["cart", text, [text]]);
    }
  });

  it("filled in equals the encoded message with the values in place", () => {
    const cut = compileTemplate(toBinary(ClusterSchema, cluster(blanks)));
    // Messages with one, two and three bytes of length; some strings are not ASCII.
    const text = fc.oneof(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.string({ minLength: 100, maxLength: 300 }),
      fc.integer({ min: 16_000, max: 17_000 }).map((length) => "é".repeat(length)),
    );
    fc.assert(
      fc.property(text, text, fc.array(text, { maxLength: 4 }), (name, sni, names) => {
        const bytes = fillTemplate(cut, { name, sni, names });
        expect(Buffer.from(bytes).equals(toBinary(ClusterSchema, cluster({ name, sni, names })))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("returns a new array each time", () => {
    const cut = compileTemplate(toBinary(ClusterSchema, cluster(blanks)));
    const first = fillTemplate(cut, { name: "first", sni: "a", names: [] });
    const copy = first.slice();
    fillTemplate(cut, { name: "second", sni: "b", names: ["c"] });
    expect(first).toEqual(copy);
  });

  it("keeps a string that only begins like a placeholder", () => {
    const [open = ""] = placeholder("x").split("x");
    const cut = compileTemplate(
      toBinary(ClusterSchema, create(ClusterSchema, { name: `${open}never closed`, altStatName: placeholder("name") })),
    );
    expect(fromBinary(ClusterSchema, fillTemplate(cut, { name: "n" }))).toMatchObject({
      name: `${open}never closed`,
      altStatName: "n",
    });
  });

  it("cannot be filled in without all values", () => {
    const cut = compileTemplate(toBinary(ClusterSchema, cluster(blanks)));
    expect(() => fillTemplate(cut, { name: "n", sni: "s" })).toThrow("names: texts are expected");
    expect(() => fillTemplate(cut, { name: "n", names: [] })).toThrow("sni: a text is expected");
    // Bytes written before the failure are not in the next result.
    const socket = fromBinary(ClusterSchema, fillTemplate(cut, { name: "n", sni: "s", names: ["one", "two"] }))
      .transportSocketMatches[0]?.transportSocket;
    const config =
      socket?.configType.case === "typedConfig"
        ? anyUnpack(socket.configType.value, UpstreamTlsContextSchema)
        : undefined;
    expect(config?.sni).toBe("s");
  });
});
