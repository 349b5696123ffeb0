import { eventually } from "@istiod/e2e";
import type { Channel } from "./channel.js";
import type { Library } from "./libraries.js";
import { host, port, type ProxylessMesh } from "./proxyless-mesh.js";
import {
  authorizationPolicy,
  bothVersions,
  destinationRule,
  peerAuthentication,
  service,
  virtualService,
} from "./scenario-objects.js";

/** A behavior of the matrix. It throws an Error with what was seen instead. */
export interface Scenario {
  readonly name: string;
  /** Libraries for which istiod leaves the feature out, with the reason. */
  readonly without?: Partial<Readonly<Record<Library["name"], string>>>;
  readonly run: (rig: Rig) => Promise<void>;
}

/** The context of a scenario. The servers v1 and v2 run, at the addresses 11 and 12. */
export interface Rig {
  readonly mesh: ProxylessMesh;
  readonly library: Library;
  /** A client with plaintext credentials. */
  readonly channel: Channel;
}

const to = (subset: string, weight = 100): string =>
  `{destination: {host: ${host}, subset: ${subset}}, weight: ${weight}}`;
const anywhere = `route: [{destination: {host: ${host}}}]`;

/** Waits until all answers of some calls satisfy a condition. */
async function until(
  what: string,
  channel: Channel,
  is: (answers: readonly string[]) => boolean,
  calls = {},
): Promise<void> {
  let seen: readonly string[] = [];
  await eventually(
    what,
    async () => {
      seen = await channel.answers({ count: 10, ...calls });
      return is(seen);
    },
    slowMs,
    200,
  ).catch(() => {
    throw new Error(`${what}, but ${[...new Set(seen)].join(", ")} answered`);
  });
}

/** Some libraries wait for a minute before they connect to istiod again. */
const slowMs = 90_000;

const only = (name: string) => (answers: readonly string[]) => answers.every((answer) => answer === name);
const oneOf =
  (...names: readonly string[]) =>
  (answers: readonly string[]) =>
    names.every((name) => answers.includes(name)) && answers.every((answer) => names.includes(answer));

export const scenarios: readonly Scenario[] = [
  {
    name: "load balancing",
    run: ({ channel }) => until("both servers answer", channel, oneOf("v1", "v2")),
  },
  {
    name: "other spellings of the target",
    run: async ({ mesh, library }) => {
      for (const target of [
        `xds:///echo:${port}`,
        `xds:///Echo.TEST.svc.cluster.local:${port}`,
        `xds:///${host}.:${port}`,
      ]) {
        const channel = await mesh.client(library, { target });
        try {
          await until(`both servers answer ${target}`, channel, oneOf("v1", "v2"));
        } finally {
          await channel.close();
        }
      }
    },
  },
  {
    name: "weights",
    run: async ({ mesh, channel }) => {
      await mesh.write("routes", virtualService(`[{route: [${to("v1", 20)}, ${to("v2", 80)}]}]`));
      await until("v2 has 80 of 100 calls", channel, (answers) => share(answers, "v2", 60, 95), { count: 100 });
      await mesh.write("routes", virtualService(`[{route: [${to("v1", 90)}, ${to("v2", 10)}]}]`));
      await until("v2 has 10 of 100 calls", channel, (answers) => share(answers, "v2", 1, 28), { count: 100 });
    },
  },
  {
    name: "header match",
    run: async ({ mesh, channel }) => {
      const match = `match: [{headers: {user: {exact: jason}}}], route: [${to("v2")}]`;
      await mesh.write("routes", virtualService(`[{${match}}, {route: [${to("v1")}]}]`));
      await until("v1 answers others", channel, only("v1"));
      await until("v2 answers jason", channel, only("v2"), { metadata: { user: "jason" } });
    },
  },
  {
    name: "inverted header match",
    run: async ({ mesh, channel }) => {
      const match = `match: [{withoutHeaders: {user: {exact: jason}}}], route: [${to("v2")}]`;
      await mesh.write("routes", virtualService(`[{${match}}, {route: [${to("v1")}]}]`));
      await until("v1 answers jason", channel, only("v1"), { metadata: { user: "jason" } });
      await until("v2 answers ann", channel, only("v2"), { metadata: { user: "ann" } });
      await until("v2 answers without a user", channel, only("v2"));
    },
  },
  {
    name: "subset",
    run: async ({ mesh, channel }) => {
      await mesh.write("routes", virtualService(`[{route: [${to("v2")}]}]`));
      await until("v2 answers", channel, only("v2"));
    },
  },
  {
    name: "timeout",
    run: async ({ mesh, channel }) => {
      await mesh.write("routes", virtualService(`[{timeout: 1s, ${anywhere}}]`));
      // The deadline of the call itself comes after the answer, so that only the route ends it.
      const slowCall = { count: 1, metadata: { sleep: "6000" }, deadline: 30_000 };
      await until("slow calls end", channel, only("code 4"), slowCall);
      const [slow] = await channel.call(slowCall);
      if (slow === undefined || slow.duration > 4000) throw new Error(`ended after ${slow?.duration} ms`);
      await until("fast calls succeed", channel, oneOf("v1", "v2"), { metadata: { sleep: "200" } });
    },
  },
  {
    name: "retry",
    run: async ({ mesh, channel }) => {
      const policy = "retries: {attempts: 3, retryOn: unavailable}";
      await mesh.write("routes", virtualService(`[{${policy}, route: [${to("v1")}]}]`));
      let key = 0;
      await eventually("two failures are retried", async () => {
        const [answer] = await channel.answers({ metadata: { fail: `14/2/${key++}` } });
        return answer === "v1";
      });
    },
  },
  {
    name: "fault",
    run: async ({ mesh, channel }) => {
      const abort = "fault: {abort: {grpcStatus: RESOURCE_EXHAUSTED, percentage: {value: 100}}}";
      await mesh.write(
        "routes",
        virtualService(`[{match: [{headers: {fault: {exact: abort}}}], ${abort}, ${anywhere}}, {${anywhere}}]`),
      );
      await until("calls are aborted", channel, only("code 8"), { metadata: { fault: "abort" } });
      await until("other calls succeed", channel, oneOf("v1", "v2"));
    },
  },
  {
    name: "direct response and redirect",
    run: async ({ mesh, channel }) => {
      const refused = "match: [{headers: {refuse: {exact: yes}}}], directResponse: {status: 403}";
      const moved = "match: [{headers: {move: {exact: yes}}}], redirect: {uri: /elsewhere}";
      await mesh.write(
        "routes",
        virtualService(`[{${refused}}, {${moved}}, {${anywhere}}]`.replaceAll(": yes", ': "yes"')),
      );
      await until("calls are refused", channel, only("code 7"), { metadata: { refuse: "yes" } });
      await until("redirected calls fail", channel, only("code 2"), { metadata: { move: "yes" } });
      await until("other calls succeed", channel, oneOf("v1", "v2"));
    },
  },
  {
    name: "consistent hash",
    without: { Node: "round robin: its process ends if endpoints are removed while it builds a ring" },
    run: async ({ mesh, channel }) => {
      await mesh.write("rule", destinationRule("{loadBalancer: {consistentHash: {httpHeaderName: user}}}"));
      let users = 0;
      await until("one server answers a user", channel, (answers) => new Set(answers).size === 1, {
        count: 30,
        metadata: { user: "ann" },
      });
      await eventually("both servers have users", async () => {
        const answers = new Set<string>();
        for (let i = 0; i < 20; i++)
          (await channel.answers({ metadata: { user: `user-${users++}` } })).forEach((each) => answers.add(each));
        return answers.has("v1") && answers.has("v2");
      });
    },
  },
  {
    name: "least request",
    run: async ({ mesh, channel }) => {
      await mesh.write("rule", destinationRule("{loadBalancer: {simple: LEAST_REQUEST}}"));
      await until("both servers answer", channel, oneOf("v1", "v2"), { count: 40 });
    },
  },
  {
    name: "locality failover",
    run: async ({ mesh, library }) => {
      await mesh.write("rule", destinationRule("{outlierDetection: {failurePercentageThreshold: 50}}"));
      const channel = await mesh.client(library, { region: "v1" });
      try {
        await until("the server of the region answers", channel, only("v1"));
        await mesh.write(
          "service",
          service(mesh, [
            ["v1", 13],
            ["v2", 12],
          ]),
        );
        await until("the other region answers", channel, only("v2"));
      } finally {
        await channel.close();
      }
    },
  },
  {
    name: "mTLS strict",
    run: async ({ mesh, library }) => {
      await mesh.write("strict", peerAuthentication("STRICT"));
      await mesh.write("rule", destinationRule("{tls: {mode: ISTIO_MUTUAL}}"));
      await mesh.write("service", service(mesh, [["secure", 14]]));
      const server = await mesh.serve(library, { name: "secure", at: 14, mode: "secure" });
      const [secure, plain] = [await mesh.client(library, { secure: true }), await mesh.client(library)];
      let next: Channel | undefined;
      try {
        await until("the secure client is answered", secure, only("secure"));
        const [answer] = await plain.answers({ deadline: 3000 });
        if (!answer?.startsWith("code")) throw new Error(`the client without TLS was answered by ${answer}`);
        await mesh.write(
          "rule",
          destinationRule("{tls: {mode: ISTIO_MUTUAL, subjectAltNames: [spiffe://cluster.local/ns/test/sa/other]}}"),
        );
        // Connections that are open stay open.
        next = await mesh.client(library, { secure: true });
        await until("a server with another identity is rejected", next, only("code 14"), {
          count: 2,
          deadline: 2000,
        });
      } finally {
        for (const each of [secure, plain, next]) await each?.close();
        await server.kill();
      }
    },
  },
  {
    name: "RBAC deny",
    run: async ({ mesh, library, channel }) => {
      await mesh.write("service", service(mesh, [["guarded", 15]]));
      await mesh.write("policy", authorizationPolicy("DENY", 'when: [{key: "request.headers[user]", values: [eve]}]'));
      const server = await mesh.serve(library, { name: "guarded", at: 15, mode: "xds" });
      try {
        await until("others are answered", channel, only("guarded"));
        await until("eve is denied", channel, only("code 7"), { metadata: { user: "eve" } });
        await mesh.write("policy", "");
        await until("eve is answered without the policy", channel, only("guarded"), { metadata: { user: "eve" } });
      } finally {
        await server.kill();
      }
    },
  },
  {
    name: "RBAC allow of an identity",
    run: async ({ mesh, library }) => {
      await mesh.write("strict", peerAuthentication("STRICT"));
      await mesh.write("rule", destinationRule("{tls: {mode: ISTIO_MUTUAL}}"));
      await mesh.write("service", service(mesh, [["secure", 14]]));
      await mesh.write(
        "policy",
        authorizationPolicy("ALLOW", "from: [{source: {principals: [cluster.local/ns/test/sa/client]}}]"),
      );
      const server = await mesh.serve(library, { name: "secure", at: 14, mode: "secure" });
      const secure = await mesh.client(library, { secure: true });
      try {
        await until("the client is answered", secure, only("secure"));
        await mesh.write(
          "policy",
          authorizationPolicy("ALLOW", "from: [{source: {principals: [cluster.local/ns/test/sa/other]}}]"),
        );
        await until("the client is denied", secure, only("code 7"));
      } finally {
        await secure.close();
        await server.kill();
      }
    },
  },
  {
    name: "EDS drain",
    run: async ({ mesh, channel }) => {
      await until("both servers answer", channel, oneOf("v1", "v2"));
      await mesh.write("service", service(mesh, [["v2", 12]]));
      const codes = new Set<number>();
      await eventually("v2 answers", async () => {
        const results = await channel.call({ count: 10 });
        results.forEach(({ code }) => codes.add(code));
        return results.every(({ answer }) => answer === "v2");
      });
      if (codes.size > 1) throw new Error(`calls failed with ${[...codes].join()}`);
    },
  },
  {
    name: "istiod restart",
    run: async ({ mesh, channel }) => {
      await until("both servers answer", channel, oneOf("v1", "v2"));
      await mesh.stopIstiod();
      await until("both servers answer without istiod", channel, oneOf("v1", "v2"));
      await mesh.startIstiod();
      await mesh.write("routes", virtualService(`[{route: [${to("v2")}]}]`));
      const codes = new Set<number>();
      await eventually(
        "v2 answers",
        async () => {
          const results = await channel.call({ count: 5 });
          results.forEach(({ code }) => codes.add(code));
          return results.every(({ answer }) => answer === "v2");
        },
        slowMs,
        500,
      );
      if (codes.size > 1) throw new Error(`calls failed with ${[...codes].join()}`);
    },
  },
  {
    name: "removal",
    run: async ({ mesh, channel }) => {
      await mesh.write("routes", virtualService(`[{route: [${to("v2")}]}]`));
      await until("v2 answers", channel, only("v2"));
      await mesh.write("routes", "");
      await until("both servers answer without routes", channel, oneOf("v1", "v2"));
      await mesh.write("service", "");
      await until(
        "calls fail without the service",
        channel,
        (answers) => answers.every((each) => each.startsWith("code")),
        { count: 1, deadline: 1000 },
      );
      await mesh.write("service", service(mesh, bothVersions));
      await until("both servers answer again", channel, oneOf("v1", "v2"), { deadline: 2000 });
    },
  },
];

function share(answers: readonly string[], name: string, least: number, most: number): boolean {
  const count = answers.filter((answer) => answer === name).length;
  return count >= least && count <= most && answers.every((answer) => !answer.startsWith("code"));
}
