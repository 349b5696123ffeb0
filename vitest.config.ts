import base from "./vitest.base.js";

/** The tests of all projects in one pool of processes, as `npm test` runs them. */
export default {
  ...base,
  test: {
    ...base.test,
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tools/*/test/**/*.test.ts"],
  },
};
