import { expect, it } from "vitest";
import { type AuditLine, CaError, certificateAuditLog, type Peer } from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";

const caller = { identities: ["spiffe://td/ns/shop/sa/cart"], by: "token directory" };
const peer = (address: string): Peer => ({ address, port: 4711, headers: {} });
const denied = (reason = "unknown token"): CaError => new CaError("unauthenticated", reason);

function audit(refusals?: { perPeer: number; total: number }) {
  const lines: (AuditLine & { readonly msg: string })[] = [];
  const clock = new FakeClock(Date.UTC(2030, 0, 1));
  const write = (line: AuditLine, msg: string): void => void lines.push({ ...line, msg });
  const events = certificateAuditLog({ info: write, warn: write, clock, ...(refusals && { refusals }) });
  return { lines, clock, events };
}

it("writes who asked from where for what, and what was issued", () => {
  const { lines, events } = audit();
  events.issued?.({
    names: caller.identities,
    caller,
    peer: peer("fd00::7"),
    key: "P-256",
    serialNumber: "0badcafe",
    notAfter: Date.UTC(2030, 0, 2),
    durationMs: 3.6,
  });
  expect(lines).toEqual([
    {
      caller: "spiffe://td/ns/shop/sa/cart",
      authenticatedBy: "token directory",
      peer: "[fd00::7]:4711",
      names: ["spiffe://td/ns/shop/sa/cart"],
      key: "P-256",
      serialNumber: "0badcafe",
      notAfter: "2030-01-02T00:00:00.000Z",
      ms: 4,
      msg: "certificate issued",
    },
  ]);
});

it("writes the reason of a refusal, shortened", () => {
  const { lines, events } = audit();
  events.authenticationFailed?.(denied("x".repeat(10_000)), peer("10.0.0.1"));
  events.signingFailed?.(new CaError("csr", "key too short"), caller, peer("10.0.0.1"));
  events.rejected?.("queue-full", peer("10.0.0.1"), undefined);
  expect(lines).toEqual([
    {
      peer: "10.0.0.1:4711",
      code: "unauthenticated",
      reason: `${"x".repeat(300)}…`,
      msg: "certificate request refused",
    },
    {
      peer: "10.0.0.1:4711",
      caller: "spiffe://td/ns/shop/sa/cart",
      authenticatedBy: "token directory",
      code: "csr",
      reason: "key too short",
      msg: "certificate request refused",
    },
    { peer: "10.0.0.1:4711", reason: "queue-full", msg: "certificate request refused" },
  ]);
});

it("limits refusals of one address, and of all addresses together", () => {
  const { lines, clock, events } = audit({ perPeer: 3, total: 5 });
  for (let n = 0; n < 1000; n++) events.authenticationFailed?.(denied(), peer("10.0.0.1"));
  for (let n = 0; n < 1000; n++) events.authenticationFailed?.(denied(), peer(`10.0.1.${n % 250}`));
  expect(lines).toHaveLength(5);
  clock.advance(60_000);
  expect(lines).toHaveLength(6);
  expect(lines[5]).toEqual({ count: 1995, msg: "further certificate requests refused" });
  events.authenticationFailed?.(denied(), peer("10.0.0.1"));
  expect(lines).toHaveLength(7);
});

it("counts the addresses of an IPv6 /64 network as one, and IPv4-mapped ones as IPv4", () => {
  const { lines, events } = audit({ perPeer: 1, total: 100 });
  for (let n = 1; n < 50; n++) events.authenticationFailed?.(denied(), peer(`2001:db8:1:2::${n.toString(16)}`));
  expect(lines).toHaveLength(1);
  events.authenticationFailed?.(denied(), peer("2001:db8:1:3::1"));
  expect(lines).toHaveLength(2);
  events.authenticationFailed?.(denied(), peer("::ffff:10.0.0.1"));
  events.authenticationFailed?.(denied(), peer("10.0.0.1"));
  expect(lines).toHaveLength(3);
});
