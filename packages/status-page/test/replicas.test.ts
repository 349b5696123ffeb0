import { assess, renderPage, type ReplicaStatus, type StatusModel } from "@istiod/status-page";
import { expect, test } from "vitest";
import { emptyModel, now, proxy } from "./models.js";
import { rowsOf, sectionOf, textOf } from "./page-text.js";

const ready = (name: string, proxies: number, isSelf = false): ReplicaStatus => ({
  name,
  state: "ready",
  version: "0.1.0",
  startedAt: now - 3_600_000,
  proxies,
  isSelf,
});
const silent: ReplicaStatus = {
  name: "istiod-c",
  state: "no answer",
  reason: "<b>connect ECONNREFUSED</b>",
  isSelf: false,
};
const model: StatusModel = {
  ...emptyModel,
  replicas: [ready("istiod-a", 1, true), ready("istiod-b", 1), silent],
  proxies: [
    { ...proxy("web.shop"), replica: "istiod-a" },
    { ...proxy("cart.shop"), replica: "istiod-b" },
  ],
};

test("shows the replicas, with the number of their proxies and the reason why one does not answer", () => {
  const section = sectionOf(renderPage(model), "replicas");
  expect(textOf(section)).toContain("Replicas 2 of 3 replicas answer");
  expect(rowsOf(section).map((cells) => cells.join("|"))).toEqual([
    "istiod-a this page|ready|0.1.0|1h|1",
    "istiod-b|ready|0.1.0|1h|1",
    "istiod-c|no answer <b>connect ECONNREFUSED</b>|||unknown",
  ]);
  expect(assess(model).attention).toEqual([
    { level: "error", section: "replicas", text: "istiod-c: no answer, its proxies are not shown" },
  ]);
});

test("shows the replica of each proxy", () => {
  const rows = rowsOf(sectionOf(renderPage(model), "proxies"));
  expect(rows.map(([name, , , replica]) => [name, replica])).toEqual([
    ["cart.shop", "istiod-b"],
    ["web.shop", "istiod-a"],
  ]);
});

test("a single replica has no table and no column", () => {
  const one = { ...model, replicas: [ready("istiod-a", 1, true)] };
  expect(sectionOf(renderPage(one), "replicas")).toBe("");
  expect(renderPage(one)).not.toContain("Replica");
});

test("if no proxy is connected, the page says to whom", () => {
  const text = textOf(sectionOf(renderPage({ ...model, proxies: [] }), "proxies"));
  expect(text).toContain("No proxy is connected to the replicas that answer.");
});
