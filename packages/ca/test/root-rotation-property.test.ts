import { X509Certificate } from "node:crypto";
import { CaError } from "@istiod/ca";
import { signingRequest, uri } from "@istiod/ca/testing";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { grace, keyOf, rootLifetime, RotationWorld } from "./rotation-world.js";

const runs = Number(process.env["ROOT_ROTATION_RUNS"] ?? 40);

type Action =
  | { readonly type: "act" | "sign"; readonly replica: number }
  | { readonly type: "execute" | "fail"; readonly request: number }
  | { readonly type: "crash"; readonly replica: number; readonly isExecuted: boolean }
  | { readonly type: "time"; readonly ms: number }
  | { readonly type: "clock"; readonly replica: number; readonly ms: number };

const replica = fc.nat(3);
const request = fc.nat(9);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constantFrom("act" as const, "sign" as const), replica }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant("execute" as const), request }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("fail" as const), request }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("crash" as const), replica, isExecuted: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("time" as const), ms: fc.nat(rootLifetime) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("clock" as const),
      replica,
      ms: fc.integer({ min: -rootLifetime, max: rootLifetime }),
    }),
  },
);

let csr: string;
beforeAll(async () => {
  csr = await signingRequest([uri("spiffe://td/ns/shop/sa/cart")]);
});

/** Leaves that were issued, with the root that issued them. */
type Leaves = { readonly leaf: X509Certificate; readonly root: X509Certificate }[];

async function perform(world: RotationWorld, leaves: Leaves, step: Action): Promise<void> {
  const { pending, replicas } = world;
  if (step.type === "time") for (const { clock } of replicas) clock.advance(step.ms);
  // A fake clock cannot go back: the others advance instead.
  if (step.type === "clock")
    replicas.forEach(
      ({ clock }, index) => (index === step.replica) === step.ms > 0 && clock.advance(Math.abs(step.ms)),
    );
  if (step.type === "execute") pending.splice(step.request % (pending.length || 1), 1)[0]?.execute();
  if (step.type === "fail")
    pending.splice(step.request % (pending.length || 1), 1)[0]?.fail(new CaError("store", "the API server is down"));
  if (step.type === "crash") {
    const at = replicas[step.replica];
    const [sent] = pending.filter((each) => each.replica === at && each.generation === at?.generation);
    if (sent !== undefined) pending.splice(pending.indexOf(sent), 1);
    at?.crash();
    // The server may have received the last request of a replica that is gone.
    if (step.isExecuted) sent?.executeSilently();
  }
  if (step.type === "act") replicas[step.replica]?.act();
  if (step.type === "sign") await sign(world, leaves, step.replica);
  await world.settled();
}

async function sign({ replicas }: RotationWorld, leaves: Leaves, index: number): Promise<void> {
  const authority = replicas[index]?.authority;
  if (authority === undefined) return;
  const root = authority.bundle.certificate;
  const names = ["spiffe://td/ns/shop/sa/cart"];
  const issued = await authority.sign({ request: csr, names }).catch((error: CaError) => {
    // An expired root does not sign.
    if (error.code !== "not-ready") throw error;
  });
  if (issued) leaves.push({ leaf: new X509Certificate(issued.certificate), root });
}

function checkInvariants({ history, replicas }: RotationWorld, leaves: Leaves): void {
  // There is one key for ever, in the Secret and in every replica.
  const keys = new Set(history.map(({ privateKey }) => keyOf(privateKey)));
  expect(keys.size).toBeLessThanOrEqual(1);
  for (const { authority } of replicas) {
    if (authority === undefined) continue;
    const { privateKey, certificate } = authority.bundle;
    expect(keys).toContain(privateKey.export({ type: "pkcs8", format: "der" }).toString("hex"));
    expect(history.map(({ certificate: each }) => each.fingerprint256)).toContain(certificate.fingerprint256);
  }
  for (const [index, { certificate: next, writtenAt }] of history.slice(1).entries()) {
    const before = history[index]!.certificate;
    const [from, to] = [Date.parse(before.validFrom), Date.parse(before.validTo)];
    // It is replaced in its grace period, once, by one that lives longer.
    expect(writtenAt).toBeGreaterThanOrEqual(to - (to - from) * grace);
    expect(Date.parse(next.validTo)).toBeGreaterThan(to);
  }
  expect(new Set(history.map(({ certificate }) => certificate.fingerprint256)).size).toBe(history.length);
  // A leaf of one root is trusted by replicas with another one, and never outlives its own root.
  for (const { leaf, root } of leaves) {
    expect(Date.parse(leaf.validTo)).toBeLessThanOrEqual(Date.parse(root.validTo));
    for (const { certificate } of history) {
      expect(leaf.checkIssued(certificate) && leaf.verify(certificate.publicKey)).toBe(true);
    }
  }
}

async function converge(world: RotationWorld): Promise<void> {
  const { replicas } = world;
  const latest = Math.max(...replicas.map(({ clock }) => clock.now()));
  for (const { clock } of replicas) clock.advance(latest - clock.now());
  await world.drain();
  const writes = world.history.length;
  const isRunning = replicas.some(({ authority }) => authority !== undefined);
  const expires = world.stored && Date.parse(world.stored.certificate.validTo);
  if (!isRunning && expires !== undefined && expires < latest) {
    // As in Istio, an istiod does not start with a root that expired while none ran.
    for (const each of replicas) each.act();
    await world.drain();
    for (const { failures } of replicas) expect(failures.at(-1)?.code).toBe("untrusted");
    return;
  }
  for (let round = 0; round < 3; round++) {
    for (const each of replicas) each.act();
    await world.drain();
  }
  // All of them noticed at once that the root is due, and one renewed it.
  expect(world.history.length - writes).toBeLessThanOrEqual(1);
  expect(world.stored).toBeDefined();
  for (const { authority } of replicas)
    expect(authority?.bundle.certificate.fingerprint256).toBe(world.stored?.certificate.fingerprint256);
}

it(
  "replicas that share a self-signed root rotate it once, with one key, and converge, whatever happens between two steps",
  { timeout: 600_000 },
  async () => {
    let renewals = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(action, { minLength: 20, maxLength: 80 }),
        async (count, actions) => {
          const world = new RotationWorld(count);
          const leaves: Leaves = [];
          for (const step of actions) await perform(world, leaves, step);
          checkInvariants(world, leaves);
          await converge(world);
          checkInvariants(world, leaves);
          renewals += world.history.length - 1;
        },
      ),
      { numRuns: runs },
    );
    expect(renewals).toBeGreaterThan(0);
  },
);
