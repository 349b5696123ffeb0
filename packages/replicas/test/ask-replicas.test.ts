import {
  askProxyReplica,
  askReplicas,
  controlPlane,
  decodeAnswers,
  decodeProxies,
  followedReplicas,
  formatSilent,
  httpReplicas,
  joinConnections,
  onlyParameter,
  type Replica,
  ReplicaCommands,
  ReplicaError,
  replicaTable,
} from "@istiod/replicas";
import { expect, test } from "vitest";
import { gathered, httpServer, instance, json, proxy, replica } from "./fakes.js";

const none = new URLSearchParams();
const ok = (name: string): Replica => replica(instance(name), { proxies: [] });
const failing = (name: string, error: unknown): Replica => ({ name, ask: () => Promise.reject(error as Error) });

test("replicas are asked at once, and those without a complete answer in time are named with the reason", async () => {
  const started: string[] = [];
  const never: Replica = {
    name: "istiod-slow",
    ask: (_, __, signal) => {
      started.push(`aborted ${signal.aborted}`);
      signal.addEventListener("abort", () => started.push("aborted"));
      return new Promise(() => undefined);
    },
  };
  const found = await askReplicas(
    [
      never,
      ok("istiod-b"),
      failing("istiod-dead", new ReplicaError("unreachable", "connect ECONNREFUSED")),
      ok("istiod-a"),
    ],
    "proxies",
    none,
    { timeoutMs: 50 },
  );
  expect(found.answers.map(({ instance: { name } }) => name)).toEqual(["istiod-a", "istiod-b"]);
  expect(formatSilent(found.silent)).toBe(
    "istiod-dead does not answer: connect ECONNREFUSED\nistiod-slow does not answer: no answer within 0.05s\n",
  );
  expect(started).toEqual(["aborted false", "aborted"]);
});

test("a fault of this program is not taken for the silence of a replica", async () => {
  await expect(askReplicas([failing("a", new TypeError("x is undefined"))], "proxies", none)).rejects.toThrow(
    "x is undefined",
  );
});

test("a replica that is asked at two addresses counts once, and replicas of one name are numbered by age", async () => {
  const [older, younger] = [
    { ...instance("host-1", 1), id: "older" },
    { ...instance("host-1", 2), id: "younger" },
  ];
  const found = await askReplicas([replica(younger, 2), replica(older, 1), replica(older, 1)], "proxies", none);
  expect(found.answers.map(({ instance: of, answer }) => [of.name, answer])).toEqual([
    ["host-1#1", 1],
    ["host-1#2", 2],
  ]);
});

test("the answer of another version is said with the version", () => {
  const found = decodeAnswers(
    gathered<unknown>([instance("a"), { proxies: [proxy("web", 1)] }], [instance("b", 1, "0.9.0"), { clients: [] }]),
    decodeProxies,
  );
  expect(found.answers.map(({ instance: { name } }) => name)).toEqual(["a"]);
  expect(found.silent).toEqual([{ name: "b", reason: "its list of proxies has another form (version 0.9.0)" }]);
});

test("a control plane is itself and its peers; peers that cannot be found are said", async () => {
  const options = {
    instance: instance("a"),
    answer: async (command: string) => ({ instance: instance("a"), answer: command }),
  };
  const all = controlPlane({ ...options, peers: async () => [ok("b"), replica(instance("a"), "again")] });
  expect((await all("proxies")).answers).toHaveLength(2);
  const alone = controlPlane({ ...options, peers: () => Promise.reject(new Error("pods is forbidden")) });
  expect(await alone("proxies")).toEqual({
    answers: [{ instance: instance("a"), answer: "proxies" }],
    failures: [],
    silent: [{ name: "other replicas", reason: "pods is forbidden" }],
  });
});

test("a question for one replica is not computed by the others, and a silent other one does not matter", async () => {
  const asked: string[] = [];
  const commands = (name: string) =>
    new ReplicaCommands({
      instance: instance(name),
      answer: (command, parameters) => {
        asked.push(`${name}: ${command}?${parameters.toString()}`);
        return Promise.resolve({ json: name });
      },
    });
  const [a, b] = [commands("a"), commands("b")];
  const peer: Replica = { name: "b", ask: (command, parameters) => b.reply(command, parameters) };
  const dead = failing("c", new ReplicaError("unreachable", "no route"));
  const ask = controlPlane({
    instance: instance("a"),
    answer: (command, parameters) => a.reply(command, parameters),
    peers: async () => [peer, dead],
  });
  const found = await ask("explain", new URLSearchParams({ proxyID: "web.shop" }), { only: "id-of-b" });
  expect(found).toEqual({ answers: [{ instance: instance("b"), answer: "b" }], failures: [], silent: [] });
  expect(asked).toEqual(["b: explain?proxyID=web.shop"]);
  const url = await httpServer({
    "/debug/replicas": async (form, response, request) => {
      const parameters = new URLSearchParams([...form].filter(([each]) => each !== "command"));
      json(await ask(form.get("command") ?? "", parameters))(form, response, request);
    },
  });
  expect(await httpReplicas([url])("explain", none, { only: "id-of-b" })).toEqual(found);
  expect((await httpReplicas([url])("explain", none, { only: "id-of-a" })).answers).toMatchObject([{ answer: "a" }]);
  expect((await ask("explain", none, { only: "id-of-c" })).silent).toEqual([{ name: "c", reason: "no route" }]);
});

test.each(["force_disconnect", "adsz", "replicas", "replica", "constructor", ""])(
  "a command that is not shared is not passed on: %s",
  async (command) => {
    const commands = new ReplicaCommands({
      instance: instance("a"),
      answer: () => Promise.resolve({ json: "secret" }),
    });
    expect(await commands.reply(command, new URLSearchParams())).toEqual({
      instance: instance("a"),
      error: `version 0.1.0 has no shared command ${JSON.stringify(command)}`,
    });
    const elsewhere = new URLSearchParams({ [onlyParameter]: "another" });
    expect(await commands.reply("status", elsewhere)).toMatchObject({ error: "another replica is asked" });
  },
);

test("lists of replicas are reused for a while, connections for as long as a replica is listed", async () => {
  let [now, lists] = [0, 0];
  let listed = [{ name: "a", address: "10.0.0.1:1" }];
  const opened: string[] = [];
  const peers = followedReplicas({
    list: async () => {
      lists++;
      if (lists === 3) throw new Error("no answer");
      return listed;
    },
    open: ({ name, address }) => {
      opened.push(address);
      return ok(name);
    },
    now: () => now,
  });
  const [first, again] = await Promise.all([peers(), peers()]);
  expect([lists, first === again]).toEqual([1, true]);
  now = 1000;
  listed = [...listed, { name: "a", address: "10.0.0.2:1" }];
  expect((await peers())[0]).toBe(first[0]);
  expect(opened).toEqual(["10.0.0.1:1", "10.0.0.2:1"]);
  now = 2000;
  await expect(peers()).rejects.toThrow("no answer");
  expect(await peers()).toHaveLength(2);
});

const reply = (name: string, answer: unknown) => ({ instance: instance(name), answer });

test("over HTTP one URL stands for all replicas, several for themselves", async () => {
  const all = { answers: [reply("a", { proxies: [] }), reply("b", { proxies: [] })], failures: [], silent: [] };
  const [first, second] = await Promise.all([
    httpServer({ "/debug/replicas": json(all), "/debug/replica": json(reply("a", 1)) }),
    httpServer({ "/debug/replica": json(reply("b", 2)) }),
  ]);
  expect((await httpReplicas([first])("proxies")).answers).toHaveLength(2);
  const both = httpReplicas([first, second]);
  expect((await both("proxies")).answers.map(({ answer }) => answer)).toEqual([1, 2]);
  expect((await both("explain", none, { only: "id-of-b" })).answers).toEqual([reply("b", 2)]);
});

test("a token in a question is in no URL", async () => {
  const urls: (string | undefined)[] = [];
  const url = await httpServer({
    "/debug/replicas": (form, response, request) => {
      urls.push(request.url, form.get("jwt") ?? "");
      json({ answers: [], failures: [], silent: [] })(form, response, request);
    },
  });
  await httpReplicas([url])("authz", new URLSearchParams({ jwt: "a.b.c" }));
  expect(urls).toEqual(["/debug/replicas", "a.b.c"]);
});

test.each<readonly [string, Parameters<typeof httpServer>[0], RegExp]>([
  ["a dead process", {}, /^does not support this command: .* answers 404$/],
  [
    "not authenticated",
    { "/debug/replicas": (_, r) => r.writeHead(401).end("authentication failure\n") },
    /^answers 401: authentication failure$/,
  ],
  [
    "busy",
    { "/debug/replicas": (_, r) => r.writeHead(503).end("too many requests\n") },
    /^answers 503: too many requests$/,
  ],
  ["half an answer", { "/debug/replicas": (_, r) => r.end('{"answers": [') }, /^incomplete answer$/],
  [
    "a connection that ends within the answer",
    {
      "/debug/replicas": (_, r) => {
        r.writeHead(200, { "content-length": "100" }).write('{"answers"');
        setImmediate(() => r.destroy());
      },
    },
    /^no response: /,
  ],
  [
    "another form",
    { "/debug/replicas": json({ answers: [{ instance: 1 }], failures: [], silent: [] }) },
    /^has an answer of another form$/,
  ],
  [
    "a page",
    { "/debug/replicas": (_, r) => r.end("<!doctype html>") },
    /^does not support this command: <!doctype html>$/,
  ],
  ["no end", { "/debug/replicas": () => undefined }, /^no answer in time$/],
])("over HTTP: %s", async (_, routes, reason) => {
  const url = await httpServer(routes);
  const { answers, silent } = await httpReplicas([url], { timeoutMs: 300 })("proxies");
  expect([answers.length, silent.map(({ name }) => name)]).toEqual([0, [url]]);
  expect(silent[0]?.reason).toMatch(reason);
});

test.each(["127.0.0.1:8080", "ftp://host", "", "istiod"])("an invalid URL is an error: %s", (url) => {
  expect(() => httpReplicas([url])).toThrow(`--istiod ${url}: expected a URL such as http://127.0.0.1:8080`);
});

test("the replica with the latest connection of a proxy answers for it", async () => {
  const answers = (name: string, proxies: readonly unknown[]): Replica => ({
    name,
    ask: async (command) => ({ instance: instance(name), answer: command === "proxies" ? { proxies } : `by ${name}` }),
  });
  const peers = [answers("b", [proxy("web", 20)]), failing("c", new ReplicaError("unreachable", "no route"))];
  const ask = controlPlane({
    instance: instance("a"),
    answer: (command, parameters) =>
      answers("a", [proxy("web", 10), proxy("other", 5)]).ask(command, parameters, AbortSignal.abort()),
    peers: async () => peers,
  });
  const silent = [{ name: "c", reason: "no route" }];
  const of = (name: string, options?: { readonly fallback: boolean }) =>
    askProxyReplica(ask, name, "explain", new URLSearchParams(), options);
  expect(await of("web.shop")).toMatchObject({ found: { answer: "by b" }, silent });
  expect(await of("other.shop")).toMatchObject({ found: { answer: "by a" }, silent });
  expect(await of("nobody.shop")).toEqual({ silent });
  expect(await of("nobody.shop", { fallback: true })).toMatchObject({ found: { answer: "by a" }, silent });
});

test("a proxy that reconnected appears once, with its latest connection; one node in two clusters is two proxies", () => {
  const west = { ...proxy("web", 5), cluster: "west", id: "web-west" };
  const joined = joinConnections(
    gathered(
      [instance("a"), [proxy("web", 10), proxy("cart", 11, "cart-old"), proxy("cart", 12, "cart-new"), west]],
      [instance("b"), [proxy("web", 20)]],
    ),
    (answer) => answer,
  );
  expect(joined.latest.map(({ replica: of, proxy: { id } }) => [of, id])).toEqual([
    ["id-of-a", "cart-new"],
    ["id-of-b", "web-20"],
    ["id-of-a", "web-west"],
  ]);
  expect(Object.fromEntries(joined.superseded)).toEqual({ "id-of-a": ["cart-old", "web-10"] });
});

test("the table of replicas has each with the number of its proxies, and those without an answer", () => {
  const answers = gathered([instance("a", 0), [proxy("web", 10)]], [instance("b", 60_000), [proxy("web", 20)]]);
  const of = { ...answers, silent: [{ name: "c", reason: "no route" }] };
  const joined = joinConnections(of, (answer) => answer);
  expect(replicaTable(of, joined, { proxies: true, now: 3_700_000 })).toEqual([
    ["NAME", "VERSION", "REVISION", "AGE", "PROXIES", "STATE"],
    ["a", "0.1.0", "default", "1h", "0", "OK"],
    ["b", "0.1.0", "default", "1h", "1", "OK"],
    ["  web.shop", "1.30.0", "sidecar", "1h", "", ""],
    ["c", "", "", "", "", "NO ANSWER: no route"],
  ]);
});
