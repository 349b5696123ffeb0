import fc from "fast-check";
import { expect, it } from "vitest";
import { type ChainMatch, ClaimedMatches } from "../../src/listeners/filter-chain-match.js";

/** Values of a criterion; "" if the match does not have it. */
const valuesOf = (values: readonly string[] | undefined): readonly string[] =>
  values === undefined || values.length === 0 ? [""] : values.map((value) => value.toLowerCase());

/** Every combination that a match accepts, one per line. */
function combinationsOf({ sniHosts, destinations, applicationProtocols }: ChainMatch): readonly string[] {
  return valuesOf(sniHosts).flatMap((name) =>
    valuesOf(destinations).flatMap((range) =>
      valuesOf(applicationProtocols).map((protocol) => `${name} ${range} ${protocol}`),
    ),
  );
}

const some = (...values: readonly string[]): fc.Arbitrary<string[]> => fc.subarray([...values]);
const match: fc.Arbitrary<ChainMatch> = fc.record({
  sniHosts: some("a.example.com", "A.example.com", "b.example.com", "*.example.com"),
  destinations: some("10.0.0.1/32", "10.0.0.0/24", "10.1.0.0/16"),
  applicationProtocols: some("http/1.1", "h2"),
});

it("leaves no combination to two chains, and takes away only what another one has", () => {
  fc.assert(
    fc.property(fc.array(match, { maxLength: 8 }), (matches) => {
      const claims = new ClaimedMatches<number>();
      const owners = new Map<string, number>();
      for (const [place, wanted] of matches.entries()) {
        const { match: kept, lost } = claims.claim(wanted, place);
        const combinations = new Set(kept === undefined ? [] : combinationsOf(kept));
        for (const each of combinations) expect(owners.get(each), each).toBeUndefined();
        const all = combinationsOf(wanted);
        expect(all).toEqual(expect.arrayContaining([...combinations]));
        const isShared = all.some((each) => owners.has(each));
        expect(lost.length > 0).toBe(isShared);
        if (!isShared) expect(kept).toBe(wanted);
        for (const each of combinations) owners.set(each, place);
      }
    }),
  );
});

it.for<[string, ChainMatch, ChainMatch | undefined, readonly string[]]>([
  ["SNI hosts in common", { sniHosts: ["B.com", "a.com"] }, { sniHosts: ["a.com"] }, ["b.com"]],
  ["all SNI hosts", { sniHosts: ["b.com"] }, undefined, []],
  [
    "ranges in common, if no other SNI host is left",
    { sniHosts: ["c.com"], destinations: ["10.0.0.1", "10.0.0.2"] },
    { sniHosts: ["c.com"], destinations: ["10.0.0.2"] },
    ["10.0.0.1/32"],
  ],
  [
    "nothing, for other ranges",
    { sniHosts: ["c.com"], destinations: ["10.0.0.2"] },
    { sniHosts: ["c.com"], destinations: ["10.0.0.2"] },
    [],
  ],
])("a chain loses %s", ([, wanted, left, values]) => {
  const claims = new ClaimedMatches<string>();
  claims.claim({ sniHosts: ["b.com"] }, "first");
  claims.claim({ sniHosts: ["c.com"], destinations: ["10.0.0.1"] }, "second");
  const { match: kept, lost } = claims.claim(wanted, "third");
  expect(kept).toEqual(left);
  expect(lost.flatMap((each) => each.values)).toEqual(values);
});

it("names each owner once", () => {
  const claims = new ClaimedMatches<string>();
  claims.claim({ sniHosts: ["a.com", "b.com"] }, "first");
  claims.claim({ sniHosts: ["c.com"] }, "second");
  expect(claims.claim({ sniHosts: ["a.com", "b.com", "c.com", "d.com"] }, "third")).toEqual({
    match: { sniHosts: ["d.com"] },
    lost: [
      { owner: "first", values: ["a.com", "b.com"] },
      { owner: "second", values: ["c.com"] },
    ],
  });
});
