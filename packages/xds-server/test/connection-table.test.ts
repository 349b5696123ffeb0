import { expect, test } from "vitest";
import { ConnectionTable, type CountedConnection } from "../src/limits/connection-table.js";

const limits = { total: 20, unauthenticated: 10, perAddress: 6, perIdentity: 3 };

function scene() {
  const table = new ConnectionTable(limits);
  const closed: string[] = [];
  const add = (key: string, count = 1) =>
    Array.from({ length: count }, (_, i) => table.add(key, (reason) => closed.push(`${key} ${i} ${reason}`)));
  const connection = (key: string): CountedConnection => {
    const [added] = add(key);
    if (added === undefined || typeof added === "string") throw new Error(`rejected: ${added}`);
    return added;
  };
  return { table, closed, add, connection };
}

test("one address has at most its share", () => {
  const { table, add } = scene();
  expect(add("10.0.0.66", 8).slice(-2)).toEqual(["connections_per_peer", "connections_per_peer"]);
  expect(table.unauthenticated).toBe(6);
});

test("where unauthenticated connections are full, the address with the most gives way to others", () => {
  const { table, closed, add } = scene();
  add("10.0.0.66", 6);
  add("10.0.0.67", 4);
  expect(add("10.0.0.1").map((each) => typeof each)).toEqual(["object"]);
  expect(closed).toEqual(["10.0.0.66 0 connections"]);
  expect(table.unauthenticated).toBe(10);
  expect(add("10.0.0.66")).toEqual(["connections"]);
});

test("a connection with an admitted stream gives way only after those without", () => {
  const { table, closed, add } = scene();
  const heavy = add("10.0.0.66", 6);
  for (const each of heavy.slice(0, 3)) table.admitted(each as CountedConnection);
  add("10.0.0.67", 4);
  add("10.0.0.1");
  expect(closed).toEqual(["10.0.0.66 3 connections"]);
});

test("authenticated connections do not use up the share of the unauthenticated", () => {
  const { table, connection } = scene();
  for (let i = 0; i < 15; i++)
    expect(table.authenticate(connection("10.0.0.1"), `spiffe://cluster.local/ns/a/sa/${i}`)).toBe(true);
  expect(table.unauthenticated).toBe(0);
  expect(table.size).toBe(15);
});

test("an identity has at most its share", () => {
  const { table, connection } = scene();
  const identity = "spiffe://cluster.local/ns/a/sa/b";
  const results = [1, 2, 3, 4].map((i) => table.authenticate(connection(`10.0.0.${i}`), identity));
  expect(results).toEqual([true, true, true, false]);
});

test("memory pressure closes connections without streams first, then unauthenticated ones, newest first", () => {
  const { table, closed, connection } = scene();
  const authenticated = connection("a");
  table.admitted(authenticated);
  table.authenticate(authenticated, "spiffe://cluster.local/ns/a/sa/b");
  for (const key of ["b", "c"]) table.admitted(connection(key));
  for (const key of ["d", "e"]) connection(key);
  table.shedNewest(5);
  expect(closed.map((line) => line[0])).toEqual(["e", "d", "c", "b", "a"]);
  expect(table.size).toBe(0);
});
