import { describe, expect, test } from "vitest";
import { nearestNames } from "../src/index.js";

const kinds = ["Service", "ServiceEntry", "ServiceAccount", "VirtualService", "Sidecar", "Secret", "Gateway"];

describe("nearestNames", () => {
  test.each([
    ["VirtualServce", ["VirtualService"], "a missing letter"],
    ["Gatewayy", ["Gateway"], "an additional letter"],
    ["Gatexay", ["Gateway"], "another letter"],
    ["Gtaeway", ["Gateway"], "swapped letters"],
    ["virtualservice", ["VirtualService"], "another case"],
    ["service-entry", ["ServiceEntry"], "separated words"],
    ["virtual_servcie", ["VirtualService"], "separated words of which one is misspelled"],
  ])("%s suggests %s: %s", (name, expected) => {
    expect(nearestNames(name, kinds)).toEqual(expected);
  });

  test.each(["Deployment", "", "x", "VirtualServiceOfAnotherName"])("%j suggests nothing", (name) => {
    expect(nearestNames(name, kinds)).toEqual([]);
  });

  test("allows edits up to a third of the length, and one edit of a short name", () => {
    expect(nearestNames("abcdef", ["abcdxy", "abcxyz"])).toEqual(["abcdxy"]);
    expect(nearestNames("lds", ["cds", "eds", "rds", "sds", "ecds"], 9)).toEqual(["cds", "eds", "rds", "sds"]);
  });

  test("sorts by distance, then by name, and stops at the limit", () => {
    const candidates = ["cart-v3", "cart-v2", "CART-V1", "cart_v1", "cart-v", "cart-v1"];
    expect(nearestNames("cart-v1", candidates, 9)).toEqual(["CART-V1", "cart_v1", "cart-v", "cart-v2", "cart-v3"]);
    expect(nearestNames("cart-v1", candidates)).toEqual(["CART-V1", "cart_v1", "cart-v"]);
  });

  test("leaves out the name itself, and a candidate that is given twice", () => {
    expect(nearestNames("cart", ["cart", "carts", "carts"])).toEqual(["carts"]);
  });

  test("matches a name of separators only with itself", () => {
    expect(nearestNames("--", ["__", "..", ""])).toEqual([]);
  });

  test("compares a very long name by its words alone", () => {
    const long = "name-".repeat(100_000);
    expect(nearestNames(long, [long.toUpperCase(), `${long}x`])).toEqual([long.toUpperCase()]);
  });
});
