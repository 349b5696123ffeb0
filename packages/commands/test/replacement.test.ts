import { expect, test } from "vitest";
import { replacementOf } from "@istiod/commands";

const commands = new Set(["describe", "precheck"]);

test.each([
  [["dashboard", "kiali"], /port-forward/],
  [["dash", "kiali"], /port-forward/],
  [["install", "--set", "profile=demo"], /^Helm installs/],
  [["x", "wait", "VirtualService", "cart.shop"], /^istiod status --wait/],
  [["experimental", "describe", "pod", "cart"], /^it is a command of its own: istiod describe$/],
  [["x", "es", "cart"], /pilot-agent request GET \/stats/],
  [["waypoint", "apply"], /not supported yet/],
  [["-n", "shop", "--kubeconfig", "f", "install"], /^Helm installs/],
  [["--namespace=shop", "install"], /^Helm installs/],
])("a command of istioctl that is not there has a replacement: %j", (words, expected) => {
  expect(replacementOf(words, commands)).toMatch(expected);
});

test("other words have none", () => {
  expect(replacementOf(["anlayze", "a.yaml"], commands)).toBeUndefined();
  expect(replacementOf(["x", "nothing"], commands)).toBeUndefined();
  expect(replacementOf([], commands)).toBeUndefined();
});
