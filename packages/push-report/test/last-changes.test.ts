import { pods } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { parseName } from "@istiod/push-report";
import { describe, expect, it } from "vitest";
import { LastChanges } from "../src/last-changes.js";

const of = (name: string) => parseName(`Pod/shop/${name}`);

describe("LastChanges", () => {
  const changing = () => {
    const database = new Database();
    const changes = new LastChanges();
    const commit = (...keys: readonly string[]) =>
      changes.add(
        database.commit((tx) =>
          keys.forEach((key) =>
            key.startsWith("-") ? tx.delete(pods, key.slice(1)) : tx.set(pods, key, { at: database.revision } as never),
          ),
        ),
      );
    return { changes, commit };
  };

  it("knows all existing objects and the last deleted ones", () => {
    const { changes, commit } = changing();
    commit("a/shop/stays", "a/shop/goes", "a/shop/returns");
    commit("-a/shop/goes", "-a/shop/returns");
    commit("a/shop/returns");
    expect(["stays", "goes", "returns"].map((name) => changes.of(of(name)))).toEqual([1, 2, 3]);
    const others = Array.from({ length: 999 }, (_, i) => `a/shop/other-${i}`);
    commit(...others);
    commit(...others.map((key) => `-${key}`));
    expect(changes.of(of("goes"))).toBe(2);
    commit("a/shop/one-more");
    commit("-a/shop/one-more");
    expect(["stays", "goes", "returns", "other-0", "one-more"].map((name) => changes.of(of(name)))).toEqual([
      1,
      undefined,
      3,
      5,
      7,
    ]);
  });

  it("keeps an object that moves to another cluster", () => {
    const { changes, commit } = changing();
    commit("east/shop/a");
    commit("-east/shop/a", "west/shop/a");
    commit(...Array.from({ length: 1001 }, (_, i) => `east/shop/${i}`));
    commit(...Array.from({ length: 1001 }, (_, i) => `-east/shop/${i}`));
    expect(changes.of(of("a"))).toBe(2);
  });

  it("keeps a bounded number of deleted objects", () => {
    const { changes, commit } = changing();
    const sizes = Array.from({ length: 3000 }, (_, round) => {
      commit(`a/shop/pod-${round}`, "a/shop/stays");
      commit(`-a/shop/pod-${round}`);
      return changes.size;
    });
    expect(Math.max(...sizes)).toBe(1 + 1000);
  });
});
