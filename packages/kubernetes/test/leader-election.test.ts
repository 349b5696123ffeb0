import { FakeClock } from "@istiod/runtime/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  ApiError,
  configMapLock,
  createApiClient,
  LeaderElection,
  type LeaderElectionOptions,
  type Leadership,
  leaseLock,
  takeoverPriority,
} from "@istiod/kubernetes";
import { Candidate, ElectionWorld } from "./election-world.js";
import { failure, FakeApiClient, settle } from "./fake-client.js";
import { json, ScriptedServer } from "./support/scripted-server.js";

const name = { namespace: "istio-system", name: "istio-leader" };
const world = (lock: "lease" | "configmap" = "lease"): ElectionWorld =>
  new ElectionWorld({ random: () => 0.5, lock, maxDelayMs: 10, failures: 0 });
const candidate = (
  where: ElectionWorld,
  name: string,
  more?: Partial<LeaderElectionOptions>,
  revision = "a",
): Candidate => new Candidate(where, { name, rate: 1, revision }, more);
const record = (where: ElectionWorld): object => {
  const { spec, metadata } = where.stored as { spec: object; metadata: { annotations?: object } };
  return { ...spec, annotations: metadata.annotations };
};

/** The timing of istiod. */
const timing = { leaseDurationMs: 20_000, renewDeadlineMs: 12_000, renewPeriodMs: 5_000, retryPeriodMs: 4_000 };

describe("an election", () => {
  it("has one leader; another follows at once after a release, and after the lease if it crashes", async () => {
    const here = world();
    const [a, b] = [candidate(here, "a"), candidate(here, "b")];
    await here.run(13_000);
    expect(a.log).toEqual(["leader a", "started"]);
    expect(b.log).toEqual(["leader a"]);
    expect(record(here)).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 30, leaseTransitions: 0 });

    await Promise.all([a.election.stop(), here.run(1000)]);
    expect(a.log).toEqual(["leader a", "started", "stopped"]);
    expect(record(here)).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, annotations: {} });
    await here.run(20_000);
    expect(b.election.leadership).toMatchObject({ transitions: 1 });

    const c = candidate(here, "c");
    b.crash();
    await here.run(25_000);
    expect(c.election.leadership).toBeUndefined();
    await here.run(30_000);
    expect(c.election.leadership).toMatchObject({ transitions: 2 });
    expect(c.log).toEqual(["leader b", "leader c", "started"]);
  });

  it("takes the lock of a crashed leader as soon as the lease is over, not at the next attempt after that", async () => {
    const here = world();
    const leader = candidate(here, "a");
    const follower = candidate(here, "b", { retryPeriodMs: 4_000, leaseDurationMs: 20_000, random: () => 1 });
    await here.run(40_000);
    leader.crash();
    // It reads the lock at 35.2 s and 44 s, and so knows of the renewal at 37.5 s four seconds after the crash.
    await here.run(33_000);
    expect(follower.log.at(-1)).toBe("leader a");
    await here.run(2_000);
    expect(follower.log.at(-1)).toBe("started");
  });

  it("renews every quarter of the lease, and keeps the time of acquisition", async () => {
    const here = world();
    candidate(here, "a");
    const times: unknown[] = [];
    for (let period = 0; period < 4; period++) {
      await here.run(7500);
      times.push(record(here));
    }
    const seen = times as { acquireTime: string; renewTime: string }[];
    expect(new Set(seen.map(({ acquireTime }) => acquireTime)).size).toBe(1);
    expect(new Set(seen.map(({ renewTime }) => renewTime)).size).toBe(4);
    expect(seen[0]?.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it("renews after a renew period of its own, and others do not take over later because of it", async () => {
    const here = world();
    const leader = candidate(here, "a", timing);
    const follower = candidate(here, "b", timing);
    await here.run(60_000);
    expect(here.lockRequests.filter((request) => request === "a PUT")).toHaveLength(11);
    expect(leader.log).toEqual(["leader a", "started"]);
    leader.crash();
    await here.run(27_000);
    expect(follower.log.at(-1)).toBe("started");
  });

  it("leads while renewals fail, until the deadline only", async () => {
    const here = world();
    const leader = candidate(here, "a", timing);
    await here.run(9_000);
    // The renewals at 10 s and soon after fail.
    here.cutOff = "a";
    await here.run(5_000);
    here.cutOff = "";
    await here.run(20_000);
    expect(leader.log).not.toContain("stopped");
    here.cutOff = "a";
    await here.run(12_100);
    expect(leader.log).toContain("stopped");
  });

  it("leads on after a renewal that is never answered, since there is time for another", async () => {
    const here = world();
    const leader = candidate(here, "a", timing);
    await here.run(9_000);
    here.hanging = "a";
    await here.run(30_000);
    expect(here.hanging).toBe("");
    expect(leader.log).not.toContain("stopped");
  });

  it("renews by one request, and reads the lock again once another candidate has changed it", async () => {
    const here = world();
    candidate(here, "a");
    await here.run(1000);
    expect(here.lockRequests.splice(0)).toEqual(["a GET", "a POST"]);
    await here.run(30_000);
    expect(here.lockRequests.splice(0)).toEqual(["a PUT", "a PUT", "a PUT", "a PUT"]);

    here.defaultRevision = "b";
    const b = candidate(here, "b", {}, "b");
    await here.run(8000);
    expect(here.lockRequests.splice(0)).toEqual(["b GET", "b PUT", "a PUT", "a GET", "b GET", "b PUT"]);
    expect(b.election.leader).toBe("b");
  });

  it("stores its record in an annotation of a ConfigMap", async () => {
    const here = world("configmap");
    candidate(here, "a");
    await here.run(1000);
    const annotations = here.stored?.metadata?.annotations ?? {};
    expect(JSON.parse(annotations["control-plane.alpha.kubernetes.io/leader"] ?? "")).toMatchObject({
      holderIdentity: "a",
      holderKey: "a",
      leaseDurationSeconds: 30,
      leaderTransitions: 0,
    });
  });

  it("ends a term at the renew deadline when the lock cannot be renewed, and goes on when it can", async () => {
    const here = world();
    const a = candidate(here, "a");
    await here.run(5000);
    const { leadership } = a.election;
    here.cutOff = "a";
    await here.run(14_000);
    expect(leadership?.signal.aborted).toBe(true);
    const last = here.writes.length;
    await here.run(10_000);
    expect(here.writes).toHaveLength(last);
    here.cutOff = "";
    await here.run(20_000);
    expect(here.writes.length).toBeGreaterThan(last);
    expect(a.log.filter((line) => line !== "unavailable")).toEqual(["leader a", "started", "stopped", "started"]);
  });

  it("lets the default revision take over, which leads once the earlier leader's lease is over", async () => {
    const here = world();
    const a = candidate(here, "a");
    await here.run(5000);
    here.defaultRevision = "b";
    const b = candidate(here, "b", {}, "b");
    await here.run(1000);
    expect(record(here)).toMatchObject({ holderIdentity: "b", annotations: { "example.com/key": "b" } });
    expect(b.election.leadership).toBeUndefined();
    await here.run(8000);
    expect(a.log).toEqual(["leader a", "started", "stopped", "leader b"]);
    await here.run(30_000);
    expect(b.log).toEqual(["leader a", "leader b", "started"]);
    expect(a.election.leadership).toBeUndefined();
  });

  it("does not continue a term of an earlier process of the same name", async () => {
    const here = world();
    candidate(here, "a").crash();
    const first = candidate(here, "a");
    await here.run(5000);
    first.crash();
    const second = candidate(here, "a");
    await here.run(20_000);
    expect(second.election.leadership).toBeUndefined();
    await here.run(40_000);
    expect(second.election.leadership).toBeDefined();
  });

  it("leaves the lock to expire if a write may still be executed", async () => {
    const here = world();
    const a = candidate(here, "a");
    await here.run(1000);
    here.failures = 1;
    await here.run(1000);
    here.failures = 0;
    await Promise.all([a.election.stop(), here.run(20_000)]);
    expect(record(here)).toMatchObject({ holderIdentity: "a" });
  });

  it("survives exceptions of callbacks, and reports them", async () => {
    const here = world();
    const a = candidate(here, "a", {
      onStarted: () => {
        throw new Error("broken");
      },
    });
    await here.run(20_000);
    expect(a.log).toEqual(["leader a", "Error: broken"]);
    expect(a.election.leadership).toBeDefined();
  });

  it.each([
    [{ identity: "" }, "leader election: identity must not be empty"],
    [{ leaseDurationMs: 1500 }, "leader election: leaseDurationMs is 1500, must be whole seconds, at least one"],
    [
      { renewDeadlineMs: 30_000 },
      "leader election: renewDeadlineMs is 30000, must be less than leaseDurationMs, 30000",
    ],
    [
      { retryPeriodMs: 15_000 },
      "leader election: retryPeriodMs is 15000, must be over 0 and less than renewDeadlineMs / 1.2",
    ],
    [
      { renewPeriodMs: 15_000 },
      "leader election: renewPeriodMs is 15000, must be over 0 and less than renewDeadlineMs, 15000",
    ],
  ])("rejects %j", (options, message) => {
    const lock = leaseLock(new FakeApiClient(() => ({})), name);
    expect(() => new LeaderElection({ lock, identity: "a", onStarted: () => undefined, ...options })).toThrow(message);
  });

  it("does not lead by a record that it cannot read", async () => {
    const annotations = { "control-plane.alpha.kubernetes.io/leader": "[]" };
    const client = new FakeApiClient(() => ({ metadata: { ...name, resourceVersion: "1", annotations } }));
    await expect(configMapLock(client, name).read(new AbortController().signal)).rejects.toMatchObject({
      code: "malformed",
      message: expect.stringContaining("ConfigMap istio-system/istio-leader"),
    });
  });
});

describe("a fenced client", () => {
  /** Leads by a lock of a client whose requests for other paths a function answers. */
  const lead = async (answer: () => unknown) => {
    const clock = new FakeClock();
    const dates = new FakeClock();
    let stored: object | undefined;
    const client = new FakeApiClient(({ path, method, body }) => {
      if (!path.includes("leases")) return answer();
      if (method === undefined && !stored) throw failure.notFound();
      if (method !== undefined) stored = { ...(body as object), metadata: { ...name, resourceVersion: "1" } };
      return stored;
    });
    let leadership: Leadership | undefined;
    const election = new LeaderElection({
      lock: leaseLock(client, name),
      identity: "a",
      clock,
      dates,
      onStarted: (started) => (leadership = started),
    });
    election.start();
    await settle();
    if (!leadership) throw new Error("not leading");
    return { clock, dates, client, election, leadership, fenced: leadership.fenced(client) };
  };
  const write = { method: "PUT", path: "/work" } as const;

  it("sends requests until the renew deadline, and none afterwards", async () => {
    const { dates, client, fenced, leadership } = await lead(() => "done");
    expect(await fenced.json(write)).toBe("done");
    // The machine was suspended: its monotonic clock has stopped.
    dates.advance(15_000);
    expect(leadership.isHeld()).toBe(false);
    const sent = client.requests.length;
    await expect(fenced.json(write)).rejects.toMatchObject({
      code: "fenced",
      message: "PUT /work: the lock Lease istio-system/istio-leader is lost or may be",
    });
    expect(client.requests).toHaveLength(sent);
    expect(leadership.signal.aborted).toBe(true);
  });

  it("checks the lock again after the rate limit, before a write is sent", async () => {
    const server = await ScriptedServer.start();
    onTestFinished(() => server.stop());
    const limit = new FakeClock();
    const limited = createApiClient(server.access(), { qps: 1, burst: 1, clock: limit });
    onTestFinished(() => limited.close());
    const { dates, leadership } = await lead(() => "done");
    const fenced = leadership.fenced(limited);
    server.reply(json("first"), json("second"), json("late"));
    expect(await fenced.json(write)).toBe("first");
    const [second, late] = [fenced.json(write), fenced.json(write).catch((error: unknown) => error)];
    await settle();
    limit.advance(1000);
    expect(await second).toBe("second");
    // The machine is suspended while the third write waits for the limit.
    dates.advance(15_000);
    limit.advance(1000);
    expect(await late).toMatchObject({
      code: "fenced",
      message: "PUT /work: the lock Lease istio-system/istio-leader is lost or may be",
    });
    expect(server.received).toHaveLength(2);
    expect(leadership.signal.aborted).toBe(true);
  });

  it("aborts requests in flight at the deadline, also while a body is read", async () => {
    const { clock, dates, fenced, leadership } = await lead(() => new Promise(() => undefined));
    const watching = leadership.fenced({
      server: "",
      json: () => Promise.reject(new Error("not used")),
      close: () => undefined,
      async send({ signal }) {
        async function* body(): AsyncGenerator<Uint8Array> {
          yield Buffer.from("first");
          await new Promise((resolve) => signal?.addEventListener("abort", resolve));
          throw new ApiError("aborted", "aborted");
        }
        return { status: 200, headers: {}, body: body() };
      },
    });
    const read = async (): Promise<string[]> => {
      const { body } = await watching.send({ path: "/watch" });
      for await (const chunk of body) chunks.push(String(chunk));
      return chunks;
    };
    const chunks: string[] = [];
    const inFlight = fenced.json(write).catch((error: unknown) => error);
    const sending = read().catch((error: unknown) => error);
    await settle(2);
    expect(chunks).toEqual(["first"]);
    dates.advance(15_000);
    clock.advance(15_000);
    expect(await inFlight).toMatchObject({ code: "fenced" });
    expect(await sending).toMatchObject({ code: "fenced" });
  });

  it("passes the caller's signal, and other errors, on", async () => {
    const { fenced } = await lead(() => {
      throw failure.forbidden();
    });
    await expect(fenced.json(write)).rejects.toMatchObject({ code: "forbidden" });
    await expect(fenced.json({ ...write, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" });
  });

  it("finishes writes in flight when the election is stopped, before the lock is released", async () => {
    let finish: (value: string) => void = () => undefined;
    const { client, fenced, election, leadership } = await lead(() => new Promise((resolve) => (finish = resolve)));
    const inFlight = fenced.json(write);
    await settle(2);
    const sent = client.requests.length;
    const stopped = election.stop();
    await settle();
    expect(leadership.signal.aborted).toBe(true);
    await expect(fenced.json(write)).rejects.toMatchObject({ code: "fenced" });
    expect(client.requests).toHaveLength(sent);
    finish("done");
    expect(await inFlight).toBe("done");
    await stopped;
    expect(client.requests.at(-1)).toMatchObject({ method: "PUT", body: { spec: { holderIdentity: "" } } });
  });
});

it("the default revision takes over from others, and local candidates from remote ones of their revision", () => {
  const of = (revision: string, remote: boolean, defaultRevision: string) =>
    takeoverPriority({ revision, remote, defaultRevision: () => defaultRevision });
  expect([of("a", false, "").key, of("a", true, "").key]).toEqual(["a", "^a"]);
  const takes = (...candidate: Parameters<typeof of>) =>
    ["a", "^a", "b", "^b", ""].filter((key) => of(...candidate).takesOverFrom(key));
  expect(takes("a", false, "a")).toEqual(["^a", "b", "^b", ""]);
  expect(takes("a", true, "a")).toEqual(["b", "^b", ""]);
  expect(takes("a", false, "b")).toEqual(["^a"]);
  expect(takes("a", true, "b")).toEqual([]);
  expect(takes("a", false, "")).toEqual(["^a"]);
});
