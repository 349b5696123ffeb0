import {
  decodeAnswers,
  decodePage,
  joinPages,
  latestClientStatuses,
  joinConnections,
  type PageProxy,
} from "@istiod/replicas";
import type { StatusModel } from "@istiod/status-page";
import { expect, test } from "vitest";
import { gathered, instance, proxy } from "./fakes.js";

const pageProxy = (name: string, connectedAt: number): PageProxy => ({
  ...proxy(name, connectedAt),
  pushPending: false,
  types: [],
  href: "javascript:alert(1)",
});
const page = (name: string, more: Partial<StatusModel> = {}): StatusModel => ({
  at: 0,
  instance: { ...instance(name), cluster: "Kubernetes", namespace: "istio-system", configRevision: 1, waitingFor: [] },
  sources: [{ name: "cluster Kubernetes", location: "https://server", state: "current", reasons: [] }],
  proxies: [],
  changes: [],
  problems: [],
  findings: [],
  certificates: [],
  objects: [],
  pages: [],
  documentation: [],
  ...more,
});
const problem = { severity: "error" as const, file: "a.yaml", line: 1, object: "", field: "", message: "no" };

test("a page has the proxies, problems, findings and stale sources of all, each once", () => {
  const own = page("a", { proxies: [pageProxy("web", 1)], problems: [problem] });
  const stale = { name: "cluster east", location: "https://east", state: "stale" as const, reasons: ["503"] };
  const other = page("b", { proxies: [pageProxy("web", 2)], problems: [problem], sources: [stale] });
  const answers = gathered<unknown>([instance("a"), own], [instance("b"), other], [instance("old"), { proxies: 3 }]);
  const joined = joinPages(own, "id-of-a", decodeAnswers(answers, decodePage));
  expect(joined.problems).toEqual([problem]);
  expect(joined.sources.map(({ name, state }) => `${name} ${state}`)).toEqual([
    "cluster Kubernetes current",
    "cluster east of b stale",
  ]);
  expect(joined.replicas).toMatchObject([
    { name: "a", state: "ready", proxies: 0, isSelf: true },
    { name: "b", state: "ready", proxies: 1, isSelf: false },
    { name: "old", state: "no answer", reason: "its page has another form (version 0.1.0)" },
  ]);
  expect(joined.proxies).toMatchObject([{ name: "web.shop", connectedAt: 2, replica: "b" }]);
  // The link is this replica's own, whatever the other one says.
  expect(joined.proxies[0]?.href).toMatch(/^\.\/debug\/proxy\?proxyID=sidecar/);
});

test("a proxy has one client status, of its latest connection", () => {
  const [old, web] = [proxy("web", 1), proxy("web", 2)];
  const config = (at: string) => ({ node: { id: web.node, metadata: { CLUSTER_ID: "Kubernetes" } }, at });
  const statuses = gathered(
    [instance("a"), { resources: [config("a")] }],
    [instance("b"), { resources: [config("b, earlier"), config("b")] }],
    [instance("c"), {}],
  );
  const joined = joinConnections(gathered([instance("a"), [old]], [instance("b"), [web]]), (answer) => answer);
  expect(latestClientStatuses(statuses, joined).answers.map(({ answer }) => answer)).toEqual([
    { resources: [] },
    { resources: [config("b")] },
    {},
  ]);
});
