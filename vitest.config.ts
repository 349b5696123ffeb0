import base from "./vitest.base.js";

/**
 * Packages whose tests change nothing that other tests see, and measure nothing of their process. Their test files run
 * in one process after each other, so that modules are loaded once instead of once for each file.
 */
const sharingAProcess = [
  "analysis",
  "commands",
  "config-schema",
  "envoy-filter",
  "explain",
  "go-template",
  "injector",
  "mesh-log",
  "mesh-source",
  "proxy-config",
  "push-context",
  "push-report",
  "service-discovery",
  "validation",
  "xds-generators",
].map((name) => `packages/${name}/test/**/*.test.ts`);

/** The tests of all projects in one pool of processes, as `npm test` runs them. */
export default {
  ...base,
  test: {
    ...base.test,
    // Many tests wait for other processes, so that two would leave two cores idle for a third of the time.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: "isolated",
          include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tools/*/test/**/*.test.ts"],
          exclude: sharingAProcess,
        },
      },
      { extends: true, test: { name: "shared", include: sharingAProcess, isolate: false } },
    ],
  },
};
