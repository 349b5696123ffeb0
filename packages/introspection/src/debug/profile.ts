import { Session } from "node:inspector/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type DebugAnswer, type DebugCommand, textAnswer } from "./command.js";

const maxSeconds = 300;

/**
 * The paths of Go's profiler that Node has equivalents of: a CPU profile (`?seconds=`, for Chrome's developer
 * tools and others that read `.cpuprofile`), samples of allocations (`.heapprofile`), the command line.
 */
export function profileCommands(enabled: boolean): readonly DebugCommand[] {
  if (!enabled) return [];
  const oneAtATime = exclusive();
  return [
    {
      name: "pprof/",
      about: "Profiles: profile, heap, cmdline",
      answer: () =>
        textAnswer(
          200,
          "profile?seconds=30 (CPU, as .cpuprofile)\nheap?seconds=10 (allocations, as .heapprofile)\ncmdline",
        ),
    },
    {
      name: "pprof/cmdline",
      about: "Command line of this process",
      answer: () => ({ status: 200, text: process.argv.join("\0") }),
    },
    {
      name: "pprof/profile",
      about: "CPU profile in V8's form; ?seconds=30",
      changesState: () => true,
      answer: ({ query }) =>
        oneAtATime(async (session) => {
          await session.post("Profiler.enable");
          await session.post("Profiler.start");
          await sleep(seconds(query, 30) * 1000);
          return json((await session.post("Profiler.stop")).profile);
        }),
    },
    {
      name: "pprof/heap",
      about: "Sampled allocations in V8's form; ?seconds=10",
      changesState: () => true,
      answer: ({ query }) =>
        oneAtATime(async (session) => {
          await session.post("HeapProfiler.startSampling");
          await sleep(seconds(query, 10) * 1000);
          return json((await session.post("HeapProfiler.stopSampling")).profile);
        }),
    },
    {
      name: "pprof/symbol",
      about: "Not available",
      answer: () => textAnswer(501, "not needed: V8's profiles include the names of functions"),
    },
    {
      name: "pprof/trace",
      about: "Not available",
      answer: () => textAnswer(501, "not supported: use pprof/profile"),
    },
  ];
}

function json(value: unknown): DebugAnswer {
  return { status: 200, text: JSON.stringify(value), contentType: "application/json" };
}

/** Duration of a profile in seconds. */
function seconds(query: URLSearchParams, defaultSeconds: number): number {
  return Math.min(maxSeconds, Math.max(0.1, Number(query.get("seconds") ?? defaultSeconds) || defaultSeconds));
}

/** Returns a function that records one profile at a time: each costs CPU, and its result memory. */
function exclusive(): (record: (session: Session) => Promise<DebugAnswer>) => Promise<DebugAnswer> {
  let isRecording = false;
  return async (record) => {
    if (isRecording) return textAnswer(429, "another profile is being recorded");
    isRecording = true;
    const session = new Session();
    try {
      session.connect();
      return await record(session);
    } finally {
      session.disconnect();
      isRecording = false;
    }
  };
}
