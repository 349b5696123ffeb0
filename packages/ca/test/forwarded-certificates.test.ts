import fc from "fast-check";
import { CaError, credentialsOf, forwardedCertificates, parseForwardedCertificates } from "@istiod/ca";
import { AddressRanges } from "@istiod/peer-address";
import { describe, expect, it } from "vitest";

/** Number of headers. CI runs a sample; `HOSTILE_CREDENTIALS=10000` runs as many. */
const numRuns = Number(process.env["HOSTILE_CREDENTIALS"] ?? 400);

const CART = "spiffe://td/ns/shop/sa/cart";
const WEB = "spiffe://td/ns/shop/sa/web";
const authenticator = forwardedCertificates({
  trusted: new AddressRanges(["10.1.0.0/16", "2001:db8::/32"]),
  trustDomain: "td",
});

interface Caller {
  readonly address?: string;
  readonly certificate?: "verified" | "unverified";
}

/** Resolves to the identities of a caller with a header, or to the reason why it has none. */
async function identitiesOf(header: string | undefined, { address = "10.1.0.9", certificate }: Caller = {}) {
  const headers = header === undefined ? {} : { "x-forwarded-client-cert": header };
  const certificates = certificate === undefined ? [] : [Uint8Array.of(1)];
  const tls = { verified: certificate === "verified", certificates };
  const outcome = await authenticator
    .authenticate(credentialsOf({ address, port: 4711, headers, tls }))
    .catch((error: unknown) => error);
  if (outcome === undefined) return undefined;
  if (!(outcome instanceof Error)) return (outcome as { identities: readonly string[] }).identities;
  expect(outcome).toBeInstanceOf(CaError);
  expect((outcome as CaError).code).toBe("unauthenticated");
  return outcome.message;
}

describe("the header x-forwarded-client-cert", () => {
  it("authenticates the client of a trusted gateway", async () => {
    const element = `By=spiffe://td/ns/edge/sa/gw;Hash=0a1b;Subject="CN=cart\\, Inc.;O=\\"x";URI=${CART};DNS=a;DNS=b`;
    expect(await identitiesOf(element)).toEqual([CART]);
    expect(await identitiesOf(`uri=${CART}`)).toEqual([CART]);
    expect(await identitiesOf(`Cert="-----BEGIN%20CERT";Chain="";URI="${CART}"`)).toEqual([CART]);
    expect(await identitiesOf(undefined)).toBeUndefined();
    expect(await identitiesOf("")).toBeUndefined();
  });

  it.each(["10.1.0.9", "::ffff:10.1.255.255", "2001:db8:ffff::1", "127.0.0.1", "::1", "::ffff:127.0.0.1"])(
    "is believed of %s, in the ranges or on this machine",
    async (address) => expect(await identitiesOf(`URI=${CART}`, { address })).toEqual([CART]),
  );

  it.each(["10.2.0.1", "::ffff:10.2.0.1", "2001:db9::1", "fe80::1%eth0", "", "/run/socket", "10.1.0.9.example"])(
    "is not believed of %j",
    async (address) =>
      expect(await identitiesOf(`URI=${CART}`, { address })).toMatch(/which is not in the trusted network$/),
  );

  it("is not believed of a peer whose own certificate is not valid", async () => {
    expect(await identitiesOf(`URI=${CART}`, { certificate: "unverified" })).toMatch(/own certificate is not valid$/);
    expect(await identitiesOf(`URI=${CART}`, { certificate: "verified" })).toEqual([CART]);
  });

  it("authenticates by several elements only if all have the same identity", async () => {
    expect(await identitiesOf(`By=a;URI=${CART}, By=b;URI=${CART}`)).toEqual([CART]);
    expect(await identitiesOf(`URI=${CART},URI=${WEB}`)).toBe(
      "x-forwarded-client-cert has elements of different identities",
    );
    // A client of another trust domain, or without a URI, whose own header the gateway passes on.
    expect(await identitiesOf(`URI=${CART},URI=spiffe://other/ns/shop/sa/x`)).toMatch(/is not an identity of trust/);
    expect(await identitiesOf(`URI=${CART},Hash=0a1b`)).toMatch(/an element of 0 URIs, expected one$/);
  });

  it.each([
    ["another trust domain", "URI=spiffe://other/ns/shop/sa/cart", /is not an identity of trust domain td$/],
    ["a name that is not a workload", "URI=https://td/ns/shop/sa/cart", /is not an identity of trust domain td$/],
    ["a DNS name", "DNS=cart.shop.svc", /an element of 0 URIs/],
    ["a subject", `Subject="CN=${CART}"`, /an element of 0 URIs/],
    ["the certificate of the gateway", `By=${CART}`, /an element of 0 URIs/],
    ["no URI and a name with one", `URI=;DNS=x;URI=${CART}`, /an element of 2 URIs/],
    ["two URIs", `URI=${CART};URI=${CART}`, /an element of 2 URIs/],
    ["an empty URI", "URI=", /is not an identity of trust domain/],
    ["an unknown field", `URI=${CART};Role=admin`, /is malformed at character/],
    ["a field twice", `Hash=1;Hash=2;URI=${CART}`, /has hash twice in one element/],
    ["no end of a quote", `Subject="CN=x;URI=${CART}`, /has a quote without its end/],
    ["text after a quote", `Subject="x"y;URI=${CART}`, /is malformed at character/],
    ["an ambiguous quote", `Subject="CN=x\\\\";URI=${CART}`, /ambiguous$/],
    ["an equals sign without quotes", `URI=${CART}=`, /is malformed at character/],
    ["a backslash without quotes", `URI=${CART}\\,x`, /is malformed at character/],
    ["a blank within", `URI= ${CART}`, /is malformed at character/],
    ["an empty element", `URI=${CART},`, /is malformed at character/],
    ["an empty field", `;URI=${CART}`, /is malformed at character/],
    ["no field", "junk header", /is malformed at character/],
    ["too many elements", Array.from({ length: 17 }, () => `URI=${CART}`).join(","), /more than 16 elements$/],
    ["too many characters", `DNS=${"a".repeat(65_536)};URI=${CART}`, /at most 65536 are accepted$/],
  ])("authenticates nobody by %s", async (_, header, reason) => expect(await identitiesOf(header)).toMatch(reason));

  // Names that a client may have from an authority of the gateway. Envoy does not quote URIs, so what follows the
  // identity in a URI cannot be told from further fields.
  it("cannot be forged by the subject and the DNS names of a certificate, as Envoy writes them", async () => {
    const hostile = fc.string({
      unit: fc.constantFrom('"', "\\", ",", ";", "=", " ", "URI", "uri=", CART, "a", "é", "\t"),
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (name, dns, uri) => {
        // RFC 2253 escapes; Envoy then escapes quotes.
        const subject = name.replace(/[",;+<>\\]/g, "\\$&").replaceAll('"', '\\"');
        const outcome = await identitiesOf(`By=gw;Subject="CN=${subject}";URI=${uri};DNS=${dns}`);
        if (Array.isArray(outcome)) expect(outcome.filter((identity) => !uri.includes(identity))).toEqual([]);
      }),
      {
        numRuns,
        examples: [
          ['"', "a", CART],
          ['";URI=', "a", ""],
          ["\\", `a;URI=${CART}`, ""],
        ],
      },
    );
  });

  it("is parsed or rejected, with no other error and in bounded time", () => {
    const piece = fc.oneof(
      fc.constantFrom("URI=", "By=", "Hash=", 'Subject="', '"', '\\"', "\\", ";", ",", "=", " ", CART, WEB, "DNS="),
      fc.string({ unit: "binary", maxLength: 6 }),
    );
    const header = fc.oneof(
      fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join("")),
      fc.tuple(piece, fc.nat(40_000)).map(([text, count]) => text.repeat(count).slice(0, 70_000)),
    );
    fc.assert(
      fc.property(header, (text) => {
        try {
          const elements = parseForwardedCertificates(text);
          expect(elements.length).toBeLessThanOrEqual(16);
          // Each value is literally in the header.
          for (const { uris } of elements) for (const uri of uris) expect(text.replaceAll('\\"', '"')).toContain(uri);
        } catch (error) {
          expect(error).toMatchObject({ name: "CaError", code: "malformed" });
          expect((error as Error).message.length).toBeLessThan(200);
        }
      }),
      { numRuns },
    );
  });

  it("keeps what proxies write: parsing is the inverse of formatting", () => {
    const quoted = (value: string): string => (/[,;="]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value);
    const value = fc.string({ unit: fc.constantFrom("a", "/", ":", ",", ";", "=", '"', "."), maxLength: 10 });
    const element = fc.record({ by: fc.array(value), uris: fc.array(value), dnsNames: fc.array(value) });
    fc.assert(
      fc.property(fc.array(element, { minLength: 1, maxLength: 16 }), (elements) => {
        const text = elements
          .map(({ by, uris, dnsNames }) =>
            [
              "Hash=0",
              ...by.map((each) => `By=${quoted(each)}`),
              ...uris.map((each) => `URI=${quoted(each)}`),
              ...dnsNames.map((each) => `DNS=${quoted(each)}`),
            ].join(";"),
          )
          .join(",");
        expect(parseForwardedCertificates(text)).toEqual(elements);
      }),
      { numRuns },
    );
  });
});
